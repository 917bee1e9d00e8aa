# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Log-softmax that reads each row once: a block of 1024 threads keeps up to 32768 elements of it in registers."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor log_softmax_rows(torch::Tensor x, int64_t stream);"

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

// A row of a matrix in one block: a thread keeps its first K packs in registers, and reads others again whenever they are needed.
template <int N, int K>
struct Row {
    Pack<N> kept[K];
    const Pack<N>* packs;
    int count;

    __device__ Row(const float* row, int columns) : packs(reinterpret_cast<const Pack<N>*>(row)), count(columns / N) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            const int i = threadIdx.x + k * blockDim.x;
            if (i < count) kept[k] = packs[i];
        }
    }

    // Calls f(pack, its number) for each of this thread's packs.
    template <typename F>
    __device__ void each(F f) const {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            const int i = threadIdx.x + k * blockDim.x;
            if (i < count) f(kept[k], i);
        }
        for (int i = threadIdx.x + K * blockDim.x; i < count; i += blockDim.x) f(packs[i], i);
    }
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

template <int N>
__global__ void __launch_bounds__(1024) log_softmax_row(const float* __restrict__ x, float* __restrict__ y, int columns) {
    const int64_t start = static_cast<int64_t>(blockIdx.x) * columns;
    const Row<N, 32 / N / (N == 1 ? 4 : 1)> row(x + start, columns);
    auto* out = reinterpret_cast<Pack<N>*>(y + start);

    float largest = -INFINITY;
    row.each([&](const Pack<N>& pack, int) {
#pragma unroll
        for (int j = 0; j < N; ++j) largest = larger(largest, pack.v[j]);
    });
    largest = across_block(largest, -INFINITY, larger);

    float total = 0.0f;
    row.each([&](const Pack<N>& pack, int) {
#pragma unroll
        for (int j = 0; j < N; ++j) total += expf(pack.v[j] - largest);
    });
    const float logarithm = logf(across_block(total, 0.0f, add));

    row.each([&](Pack<N> pack, int i) {
#pragma unroll
        for (int j = 0; j < N; ++j) pack.v[j] = pack.v[j] - largest - logarithm;
        out[i] = pack;
    });
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

torch::Tensor log_softmax_rows(torch::Tensor x, int64_t stream_handle) {
    TORCH_CHECK(is_fit(x) && x.dim() == 2, "expected a contiguous float32 matrix on a GPU");
    const int64_t rows = x.size(0), columns = x.size(1);
    TORCH_CHECK(rows <= INT32_MAX && columns <= INT32_MAX / 2, "too large for one grid");
    auto y = torch::empty_like(x);
    if (y.numel() == 0) return y;

    const float* in = x.data_ptr<float>();
    const auto kernel = columns % 4 == 0 && is_aligned(in) ? log_softmax_row<4> : log_softmax_row<1>;
    kernel<<<static_cast<unsigned>(rows), 1024, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        in, y.data_ptr<float>(), static_cast<int>(columns));
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "log_softmax_row: ", cudaGetErrorString(error));
    return y;
}
"""

extension = load_inline(name="assay_log_softmax_rows", cpp_sources=CPP, cuda_sources=CUDA, functions=["log_softmax_rows"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.log_softmax_rows(x, torch.cuda.current_stream(x.device).cuda_stream)
