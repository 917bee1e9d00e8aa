# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Four statistics of a row from one read: it stays in registers, so that the variance is that around the mean itself."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor row_statistics(torch::Tensor x, int64_t stream);"

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
__device__ float smaller(float a, float b) { return a < b || a != a ? a : b; }

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

// Four rows of `statistics`: means, variances, least and largest values.
template <int N>
__global__ void row_statistics_row(const float* __restrict__ x, float* __restrict__ statistics, int columns) {
    const Row<N, 8> row(x + static_cast<int64_t>(blockIdx.x) * columns, columns);
    float sum = 0.0f, least = INFINITY, largest = -INFINITY;
    row.each([&](const Pack<N>& pack, int) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            sum += pack.v[j];
            least = smaller(least, pack.v[j]);
            largest = larger(largest, pack.v[j]);
        }
    });
    const float mean = across_block(sum, 0.0f, add) / columns;
    least = across_block(least, INFINITY, smaller);
    largest = across_block(largest, -INFINITY, larger);

    float squares = 0.0f;
    row.each([&](const Pack<N>& pack, int) {
#pragma unroll
        for (int j = 0; j < N; ++j) squares = fmaf(pack.v[j] - mean, pack.v[j] - mean, squares);
    });
    const float variance = across_block(squares, 0.0f, add) / columns;
    if (threadIdx.x == 0) {
        const int64_t rows = gridDim.x;
        statistics[blockIdx.x] = mean;
        statistics[rows + blockIdx.x] = variance;
        statistics[2 * rows + blockIdx.x] = least;
        statistics[3 * rows + blockIdx.x] = largest;
    }
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

torch::Tensor row_statistics(torch::Tensor x, int64_t stream_handle) {
    TORCH_CHECK(is_fit(x) && x.dim() == 2 && x.size(1) > 0, "expected a contiguous float32 matrix on a GPU");
    const int64_t rows = x.size(0), columns = x.size(1);
    TORCH_CHECK(rows <= INT32_MAX && columns <= INT32_MAX / 2, "too large for one grid");
    auto statistics = torch::empty({4, rows}, x.options());
    if (rows == 0) return statistics;

    const float* in = x.data_ptr<float>();
    const auto kernel = columns % 4 == 0 && is_aligned(in) ? row_statistics_row<4> : row_statistics_row<1>;
    kernel<<<static_cast<unsigned>(rows), 512, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        in, statistics.data_ptr<float>(), static_cast<int>(columns));
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "row_statistics_row: ", cudaGetErrorString(error));
    return statistics;
}
"""

extension = load_inline(name="assay_row_statistics", cpp_sources=CPP, cuda_sources=CUDA, functions=["row_statistics"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        mean, variance, least, largest = extension.row_statistics(x, torch.cuda.current_stream(x.device).cuda_stream)
        return {"mean": mean, "variance": variance, "least": least, "largest": largest}
