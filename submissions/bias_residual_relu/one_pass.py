# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Bias, residual and ReLU in one pass, four elements at a time, where eager PyTorch writes and reads two sums between."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor bias_residual_relu(torch::Tensor x, torch::Tensor bias, torch::Tensor residual, int64_t stream);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>

// N floats that are read and written at once.
template <int N>
struct alignas(4 * N) Pack {
    float v[N];
};

// NaN stays what it is, as in torch.relu.
__device__ __forceinline__ float relu(float v) { return v < 0.0f ? 0.0f : v; }

// A row of blocks for each row of x; a block's part of the bias is the same in all rows, and stays in the cache.
template <int N>
__global__ void bias_residual_relu_row(const float* __restrict__ x, const float* __restrict__ bias, const float* __restrict__ residual,
                                       float* __restrict__ y, int columns) {
    const int64_t start = static_cast<int64_t>(blockIdx.y) * columns;
    const auto* in = reinterpret_cast<const Pack<N>*>(x + start);
    const auto* more = reinterpret_cast<const Pack<N>*>(residual + start);
    const auto* shifts = reinterpret_cast<const Pack<N>*>(bias);
    auto* out = reinterpret_cast<Pack<N>*>(y + start);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < columns / N; i += gridDim.x * blockDim.x) {
        Pack<N> a = in[i];
        const Pack<N> b = shifts[i], c = more[i];
#pragma unroll
        for (int j = 0; j < N; ++j) a.v[j] = relu(a.v[j] + b.v[j] + c.v[j]);
        out[i] = a;
    }
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

torch::Tensor bias_residual_relu(torch::Tensor x, torch::Tensor bias, torch::Tensor residual, int64_t stream_handle) {
    TORCH_CHECK(is_fit(x) && is_fit(bias) && is_fit(residual), "expected contiguous float32 tensors on a GPU");
    const int64_t columns = bias.numel(), rows = x.numel() / columns;
    TORCH_CHECK(rows <= 65535 && columns <= INT32_MAX / 2, "too large for one grid");
    auto y = torch::empty_like(x);
    if (y.numel() == 0) return y;

    const float *in = x.data_ptr<float>(), *shifts = bias.data_ptr<float>(), *more = residual.data_ptr<float>();
    const int width = columns % 4 == 0 && is_aligned(in) && is_aligned(shifts) && is_aligned(more) ? 4 : 1;
    const auto kernel = width == 4 ? bias_residual_relu_row<4> : bias_residual_relu_row<1>;
    const dim3 grid(static_cast<unsigned>((columns / width + 255) / 256), static_cast<unsigned>(rows));
    kernel<<<grid, 256, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(in, shifts, more, y.data_ptr<float>(), static_cast<int>(columns));
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "bias_residual_relu_row: ", cudaGetErrorString(error));
    return y;
}
"""

extension = load_inline(name="assay_bias_residual_relu", cpp_sources=CPP, cuda_sources=CUDA, functions=["bias_residual_relu"])


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(columns))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return extension.bias_residual_relu(x, self.bias.detach(), residual, torch.cuda.current_stream(x.device).cuda_stream)
