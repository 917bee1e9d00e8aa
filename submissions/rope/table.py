# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Rotary embedding: one kernel makes a table of cosines and sines in float64's angles, another turns every pair by it."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor rope(torch::Tensor x, torch::Tensor rates, int64_t stream);"

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

__global__ void fill_table(const double* __restrict__ rates, float2* __restrict__ table, int length, int half) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length * half) return;
    double sine, cosine;
    sincos((i / half) * rates[i % half], &sine, &cosine);
    table[i] = make_float2(static_cast<float>(cosine), static_cast<float>(sine));
}

// A thread turns N pairs, whose first numbers are neighbours, and so are their second ones half a head further on.
template <int N>
__global__ void turn(const float* __restrict__ x, const float2* __restrict__ table, float* __restrict__ y, int64_t count, int length,
                     int half) {
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const int packs = half / N;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
        const int64_t head = i / packs;
        const int at = static_cast<int>(i % packs) * N;
        const int64_t start = head * 2 * half + at;
        const float2* turns = table + (head % length) * half + at;
        const auto first = *reinterpret_cast<const Pack<N>*>(x + start);
        const auto second = *reinterpret_cast<const Pack<N>*>(x + start + half);
        Pack<N> left, right;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const float2 by = turns[j];
            left.v[j] = first.v[j] * by.x - second.v[j] * by.y;
            right.v[j] = second.v[j] * by.x + first.v[j] * by.y;
        }
        *reinterpret_cast<Pack<N>*>(y + start) = left;
        *reinterpret_cast<Pack<N>*>(y + start + half) = right;
    }
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

torch::Tensor rope(torch::Tensor x, torch::Tensor rates, int64_t stream_handle) {
    TORCH_CHECK(is_fit(x) && x.dim() == 4 && x.size(3) == 2 * rates.numel(), "expected a contiguous float32 tensor on a GPU");
    TORCH_CHECK(rates.is_cuda() && rates.scalar_type() == torch::kDouble && rates.is_contiguous(), "expected float64 rates on a GPU");
    const int64_t length = x.size(2), half = rates.numel();
    TORCH_CHECK(length * half <= INT32_MAX / 2, "too long");
    auto y = torch::empty_like(x);
    if (y.numel() == 0) return y;

    const cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    auto table = torch::empty({length, half, 2}, x.options());
    auto* turns = reinterpret_cast<float2*>(table.data_ptr<float>());
    fill_table<<<static_cast<unsigned>((length * half + 127) / 128), 128, 0, stream>>>(
        rates.data_ptr<double>(), turns, static_cast<int>(length), static_cast<int>(half));

    const float* in = x.data_ptr<float>();
    const int width = half % 4 == 0 && is_aligned(in) ? 4 : 1;
    const int64_t count = x.numel() / 2 / width;
    const unsigned blocks = static_cast<unsigned>(std::min<int64_t>((count + 255) / 256, 1 << 20));
    const auto kernel = width == 4 ? turn<4> : turn<1>;
    kernel<<<blocks, 256, 0, stream>>>(in, turns, y.data_ptr<float>(), count, static_cast<int>(length), static_cast<int>(half));
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "rope: ", cudaGetErrorString(error));
    return y;
}
"""

extension = load_inline(name="assay_rope", cpp_sources=CPP, cuda_sources=CUDA, functions=["rope"])


class ModelNew(nn.Module):
    def __init__(self, width: int, base: float):
        super().__init__()
        self.register_buffer("rates", base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.rope(x, self.rates.double(), torch.cuda.current_stream(x.device).cuda_stream)
