# author: assay
# expect: cuda incorrect/nan_or_inf
# expect: cpu not_evaluated/no_device
"""Wrong: the running maximum starts at +infinity, so every power is zero and the quotient 0/0."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor softmax_by_warp(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cmath>

__global__ void softmax_by_warp_kernel(const float* x, float* y, int64_t rows, int64_t dim) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float* in = x + row * dim;

    float top = INFINITY;
    for (int64_t i = threadIdx.x; i < dim; i += 32) top = fmaxf(top, in[i]);
    for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    float norm = 0.0f;
    for (int64_t i = threadIdx.x; i < dim; i += 32) norm += expf(in[i] - top);
    for (int d = 16; d > 0; d /= 2) norm += __shfl_xor_sync(0xffffffffu, norm, d);
    for (int64_t i = threadIdx.x; i < dim; i += 32) y[row * dim + i] = expf(in[i] - top) / norm;
}

torch::Tensor softmax_by_warp(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 2 && x.is_contiguous(), "expected a contiguous matrix on a GPU");
    auto y = torch::empty_like(x);
    const dim3 block(32, 4);
    softmax_by_warp_kernel<<<(x.size(0) + 3) / 4, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

extension = load_inline(name="assay_softmax_by_warp", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_by_warp"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_by_warp(x)
