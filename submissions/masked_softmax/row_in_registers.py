# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Causal softmax that reads what is on and below the diagonal, once: a block keeps a row in registers, and writes zeros behind it."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor causal_softmax(torch::Tensor scores, int64_t stream);"

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

__device__ float add(float a, float b) { return a + b; }
__device__ float larger(float a, float b) { return a > b || a != a ? a : b; }

// Every thread's value made one, for all threads: within the warps first, and then the warps' results by each warp for itself.
template <typename Join>
__device__ float across_block(float value, float identity, Join join) {
    __shared__ float of_warp[32];
    for (int offset = 16; offset; offset /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? of_warp[threadIdx.x % 32] : identity;
    for (int offset = 16; offset; offset /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads();  // before the next one writes
    return value;
}

// Row r of each matrix has r + 1 elements that count.
template <int N>
__global__ void causal_softmax_row(const float* __restrict__ scores, float* __restrict__ y, int length) {
    constexpr int kKept = 16 / N;
    const int64_t start = static_cast<int64_t>(blockIdx.x) * length;
    const int counting = static_cast<int>(blockIdx.x % length) + 1;
    const auto* in = reinterpret_cast<const Pack<N>*>(scores + start);
    auto* out = reinterpret_cast<Pack<N>*>(y + start);

    // Scaled, and without what does not count, of a pack that has something that does.
    auto read = [&](int i) {
        Pack<N> pack = in[i];
#pragma unroll
        for (int j = 0; j < N; ++j) pack.v[j] = i * N + j < counting ? 0.125f * pack.v[j] : -INFINITY;
        return pack;
    };
    Pack<N> kept[kKept];
    float largest = -INFINITY;
    auto look = [&](const Pack<N>& pack) {
#pragma unroll
        for (int j = 0; j < N; ++j) largest = larger(largest, pack.v[j]);
    };
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
        const int i = threadIdx.x + k * blockDim.x;
        if (i * N < counting) look(kept[k] = read(i));
    }
    for (int i = threadIdx.x + kKept * blockDim.x; i * N < counting; i += blockDim.x) look(read(i));
    largest = across_block(largest, -INFINITY, larger);

    float total = 0.0f;
    auto power = [&](Pack<N> pack) {
#pragma unroll
        for (int j = 0; j < N; ++j) total += pack.v[j] = expf(pack.v[j] - largest);
        return pack;
    };
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
        const int i = threadIdx.x + k * blockDim.x;
        if (i * N < counting) kept[k] = power(kept[k]);
    }
    for (int i = threadIdx.x + kKept * blockDim.x; i * N < counting; i += blockDim.x) power(read(i));
    const float scale = 1.0f / across_block(total, 0.0f, add);

    auto write = [&](Pack<N> pack, int i) {
#pragma unroll
        for (int j = 0; j < N; ++j) pack.v[j] = (i * N + j < counting ? pack.v[j] : 0.0f) * scale;  // a row with NaN has nothing else
        out[i] = pack;
    };
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
        const int i = threadIdx.x + k * blockDim.x;
        if (i < length / N) write(i * N < counting ? kept[k] : Pack<N>{}, i);
    }
    for (int i = threadIdx.x + kKept * blockDim.x; i < length / N; i += blockDim.x) {
        write(i * N < counting ? power(read(i)) : Pack<N>{}, i);
    }
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

torch::Tensor causal_softmax(torch::Tensor scores, int64_t stream_handle) {
    TORCH_CHECK(is_fit(scores) && scores.dim() == 3 && scores.size(1) == scores.size(2), "expected contiguous float32 matrices on a GPU");
    const int64_t length = scores.size(2), rows = scores.size(0) * length;
    TORCH_CHECK(rows <= INT32_MAX && length <= INT32_MAX / 4, "too large for one grid");
    auto y = torch::empty_like(scores);
    if (y.numel() == 0) return y;

    const float* in = scores.data_ptr<float>();
    const auto kernel = length % 4 == 0 && is_aligned(in) ? causal_softmax_row<4> : causal_softmax_row<1>;
    kernel<<<static_cast<unsigned>(rows), 128, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        in, y.data_ptr<float>(), static_cast<int>(length));
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "causal_softmax_row: ", cudaGetErrorString(error));
    return y;
}
"""

extension = load_inline(name="assay_causal_softmax", cpp_sources=CPP, cuda_sources=CUDA, functions=["causal_softmax"])


class ModelNew(nn.Module):
    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        return extension.causal_softmax(scores, torch.cuda.current_stream(scores.device).cuda_stream)
