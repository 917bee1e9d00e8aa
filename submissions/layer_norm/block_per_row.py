# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_toolchain | not_evaluated/no_device
"""Layer norm with one block for each row, on torch's current stream by its own header, which only a CUDA build of torch can compile."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor layer_norm_rows(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);"

CUDA = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <cstdint>

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__device__ float sum_of_block(float value) {
    __shared__ float of_warp[kWarps];
    for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(0xffffffffu, value, d);
    __syncthreads();  // of_warp may still be read from the call before
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < kWarps; ++w) total += of_warp[w];
    return total;
}

// The squares are summed about the mean, in a pass of their own: the difference of two large sums would lose digits.
// The row is read three times, but only the first time from beyond the caches.
__global__ void __launch_bounds__(kThreads) layer_norm_row(const float* __restrict__ x, const float* __restrict__ weight,
                                                           const float* __restrict__ bias, float* __restrict__ y, int64_t dim, float eps) {
    const float* in = x + blockIdx.x * dim;
    float* out = y + blockIdx.x * dim;

    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < dim; i += kThreads) sum += in[i];
    const float mean = sum_of_block(sum) / static_cast<float>(dim);

    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < dim; i += kThreads) {
        const float off = in[i] - mean;
        squares = fmaf(off, off, squares);
    }
    const float scale = rsqrtf(sum_of_block(squares) / static_cast<float>(dim) + eps);

    for (int64_t i = threadIdx.x; i < dim; i += kThreads) out[i] = fmaf((in[i] - mean) * scale, weight[i], bias[i]);
}

torch::Tensor layer_norm_rows(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    for (const torch::Tensor& t : {x, weight, bias}) {
        TORCH_CHECK(t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(), "expected contiguous float32 tensors on a GPU");
    }
    const int64_t dim = weight.numel();
    TORCH_CHECK(x.size(-1) == dim && bias.numel() == dim, "the last dimension must match the parameters");
    torch::Tensor y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t rows = x.numel() / dim;
    TORCH_CHECK(rows <= INT32_MAX, "too many rows for one grid");
    layer_norm_row<<<static_cast<unsigned>(rows), kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), dim, static_cast<float>(eps));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

extension = load_inline(name="assay_layer_norm_rows", cpp_sources=CPP, cuda_sources=CUDA, functions=["layer_norm_rows"])


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.layer_norm_rows(x, self.norm.weight.detach(), self.norm.bias.detach(), self.norm.eps)
