# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""GELU four elements at a time, tanh from one exponential and one division, accurate to a few units in the last place."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gelu_vectorized(torch::Tensor x, int64_t stream);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>

// 0.5 * v * (1 + tanh(u)) is v / (1 + exp(-2 u)). The quotient has no cancellation, and it goes to 0 or v at the ends by itself.
__device__ __forceinline__ float gelu(float v) {
    constexpr float kTwoRootTwoOverPi = 1.5957691216057308f;
    const float twice_inner = kTwoRootTwoOverPi * fmaf(0.044715f * v * v, v, v);
    return v / (1.0f + expf(-twice_inner));
}

// `vectors` counts the float4 at the start; the scalar loop covers the elements behind them.
__global__ void gelu_grid(const float* __restrict__ x, float* __restrict__ y, int64_t vectors, int64_t n) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const float4* in = reinterpret_cast<const float4*>(x);
    float4* out = reinterpret_cast<float4*>(y);

#pragma unroll 2
    for (int64_t i = first; i < vectors; i += stride) {
        const float4 v = __ldcs(in + i);
        __stcs(out + i, make_float4(gelu(v.x), gelu(v.y), gelu(v.z), gelu(v.w)));
    }
    for (int64_t i = 4 * vectors + first; i < n; i += stride) y[i] = gelu(x[i]);
}

torch::Tensor gelu_vectorized(torch::Tensor x, int64_t stream_handle) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "expected a float32 tensor on a GPU");
    TORCH_CHECK(x.is_contiguous(), "expected a contiguous tensor");
    torch::Tensor y = torch::empty_like(x);
    const int64_t n = x.numel();
    if (n == 0) return y;

    const float* in = x.data_ptr<float>();
    const int64_t vectors = reinterpret_cast<uintptr_t>(in) % 16 == 0 ? n / 4 : 0;
    constexpr int64_t kThreads = 256;
    constexpr int64_t kMostBlocks = 1 << 20;
    const int64_t wanted = (std::max<int64_t>(vectors, n - 4 * vectors) + kThreads - 1) / kThreads;
    const unsigned blocks = static_cast<unsigned>(std::min(wanted, kMostBlocks));

    cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    gelu_grid<<<blocks, kThreads, 0, stream>>>(in, y.data_ptr<float>(), vectors, n);
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "gelu_grid: ", cudaGetErrorString(error));
    return y;
}
"""

extension = load_inline(name="assay_gelu_vectorized", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_vectorized"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_vectorized(x, torch.cuda.current_stream(x.device).cuda_stream)
