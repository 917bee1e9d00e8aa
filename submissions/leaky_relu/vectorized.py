# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Leaky ReLU four elements at a time: a grid-stride loop over float4, and a scalar loop for what is left."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky_relu_vectorized(torch::Tensor x, double slope, int64_t stream);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>

__device__ __forceinline__ float leaky(float v, float slope) {
    return v > 0.0f ? v : v * slope;
}

// `vectors` counts the float4 at the start; the scalar loop covers the elements behind them.
__global__ void leaky_relu_grid(const float* __restrict__ x, float* __restrict__ y, float slope, int64_t vectors, int64_t n) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const float4* in = reinterpret_cast<const float4*>(x);
    float4* out = reinterpret_cast<float4*>(y);

#pragma unroll 4
    for (int64_t i = first; i < vectors; i += stride) {
        // Nothing is read twice: keep the streams out of the way of each other in the cache.
        float4 v = __ldcs(in + i);
        v.x = leaky(v.x, slope);
        v.y = leaky(v.y, slope);
        v.z = leaky(v.z, slope);
        v.w = leaky(v.w, slope);
        __stcs(out + i, v);
    }
    for (int64_t i = 4 * vectors + first; i < n; i += stride) y[i] = leaky(x[i], slope);
}

torch::Tensor leaky_relu_vectorized(torch::Tensor x, double slope, int64_t stream_handle) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "expected a float32 tensor on a GPU");
    TORCH_CHECK(x.is_contiguous(), "expected a contiguous tensor");
    torch::Tensor y = torch::empty_like(x);
    const int64_t n = x.numel();
    if (n == 0) return y;

    const float* in = x.data_ptr<float>();
    const bool aligned = reinterpret_cast<uintptr_t>(in) % 16 == 0;
    const int64_t vectors = aligned ? n / 4 : 0;
    constexpr int64_t kThreads = 256;
    constexpr int64_t kMostBlocks = 1 << 20;
    const int64_t wanted = (std::max<int64_t>(vectors, n - 4 * vectors) + kThreads - 1) / kThreads;
    const unsigned blocks = static_cast<unsigned>(std::min(wanted, kMostBlocks));

    cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    leaky_relu_grid<<<blocks, kThreads, 0, stream>>>(in, y.data_ptr<float>(), static_cast<float>(slope), vectors, n);
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "leaky_relu_grid: ", cudaGetErrorString(error));
    return y;
}
"""

extension = load_inline(name="assay_leaky_relu_vectorized", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky_relu_vectorized"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_vectorized(x, self.negative_slope, torch.cuda.current_stream(x.device).cuda_stream)
