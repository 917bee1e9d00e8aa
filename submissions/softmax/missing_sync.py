# author: assay
# expect: cuda incorrect/nondeterministic | incorrect/wrong_values
# expect: cpu not_evaluated/no_device
"""Wrong: warps read the other warps' partial sums without a __syncthreads() before, so early ones miss what late ones add."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor softmax_hasty(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

constexpr int kWarps = 32;

__global__ void softmax_hasty_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t dim) {
    __shared__ float of_warp[kWarps];
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const float* in = x + blockIdx.x * dim;
    float* out = y + blockIdx.x * dim;

    float top = -FLT_MAX;
    for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) top = fmaxf(top, in[i]);
    for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    if (lane == 0) of_warp[warp] = top;
    __syncthreads();
    top = of_warp[lane];
    for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    __syncthreads();
    if (lane == 0) of_warp[warp] = 0.0f;
    __syncthreads();

    // Contiguous shares, one for each warp: the last to start is also the last to end.
    const int64_t share = (dim + kWarps - 1) / kWarps;
    const int64_t end = min(dim, (warp + 1) * share);
    float sum = 0.0f;
    for (int64_t i = warp * share + lane; i < end; i += 32) sum += expf(in[i] - top);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0) of_warp[warp] = sum;

    float total = of_warp[lane];
    for (int d = 16; d > 0; d /= 2) total += __shfl_xor_sync(0xffffffffu, total, d);
    for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) out[i] = expf(in[i] - top) / total;
}

torch::Tensor softmax_hasty(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 2 && x.is_contiguous(), "expected a contiguous matrix on a GPU");
    auto y = torch::empty_like(x);
    softmax_hasty_kernel<<<x.size(0), 32 * kWarps>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(name="assay_softmax_hasty", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_hasty"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_hasty(x)
