# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""SwiGLU in one pass, four elements at a time: gate and value are read once, and nothing is written between."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor swiglu(torch::Tensor x, int64_t stream);"

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

__device__ __forceinline__ float gated(float gate, float value) { return gate / (1.0f + expf(-gate)) * value; }

// A row of blocks for each row of x: gate in its first half, value in its second.
template <int N>
__global__ void swiglu_row(const float* __restrict__ x, float* __restrict__ y, int hidden) {
    const int64_t row = blockIdx.y;
    const auto* gates = reinterpret_cast<const Pack<N>*>(x + 2 * row * hidden);
    const auto* values = reinterpret_cast<const Pack<N>*>(x + 2 * row * hidden + hidden);
    auto* out = reinterpret_cast<Pack<N>*>(y + row * hidden);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < hidden / N; i += gridDim.x * blockDim.x) {
        Pack<N> gate = gates[i];
        const Pack<N> value = values[i];
#pragma unroll
        for (int j = 0; j < N; ++j) gate.v[j] = gated(gate.v[j], value.v[j]);
        out[i] = gate;
    }
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

torch::Tensor swiglu(torch::Tensor x, int64_t stream_handle) {
    TORCH_CHECK(is_fit(x) && x.dim() == 2, "expected a contiguous float32 matrix on a GPU");
    const int64_t rows = x.size(0), hidden = x.size(1) / 2;
    TORCH_CHECK(rows <= 65535 && hidden <= INT32_MAX / 2, "too large for one grid");
    auto y = torch::empty({rows, hidden}, x.options());
    if (y.numel() == 0) return y;

    const float* in = x.data_ptr<float>();
    const int width = hidden % 4 == 0 && is_aligned(in) ? 4 : 1;
    const auto kernel = width == 4 ? swiglu_row<4> : swiglu_row<1>;
    const dim3 grid(static_cast<unsigned>((hidden / width + 255) / 256), static_cast<unsigned>(rows));
    kernel<<<grid, 256, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(in, y.data_ptr<float>(), static_cast<int>(hidden));
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "swiglu_row: ", cudaGetErrorString(error));
    return y;
}
"""

extension = load_inline(name="assay_swiglu", cpp_sources=CPP, cuda_sources=CUDA, functions=["swiglu"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.swiglu(x, torch.cuda.current_stream(x.device).cuda_stream)
