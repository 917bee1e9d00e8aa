# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Cross entropy that reads the logits once and writes none: a block makes one loss of each row, another kernel their mean."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor cross_entropy_mean(torch::Tensor logits, torch::Tensor targets, int64_t stream);"

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
__global__ void cross_entropy_row(const float* __restrict__ logits, const int64_t* __restrict__ targets, float* __restrict__ losses,
                                  int classes) {
    const float* start = logits + static_cast<int64_t>(blockIdx.x) * classes;
    const Row<N, 8> row(start, classes);
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
    total = across_block(total, 0.0f, add);
    if (threadIdx.x == 0) losses[blockIdx.x] = (largest - start[targets[blockIdx.x]]) + logf(total);
}

// One block: in the same order whatever the device does, and so the same in every call.
__global__ void mean_of(const float* __restrict__ losses, float* __restrict__ mean, int count) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += losses[i];
    sum = across_block(sum, 0.0f, add);
    if (threadIdx.x == 0) *mean = sum / count;
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

torch::Tensor cross_entropy_mean(torch::Tensor logits, torch::Tensor targets, int64_t stream_handle) {
    TORCH_CHECK(is_fit(logits) && logits.dim() == 2 && logits.size(0) > 0, "expected a contiguous float32 matrix on a GPU");
    TORCH_CHECK(targets.is_cuda() && targets.scalar_type() == torch::kLong && targets.is_contiguous(), "expected int64 targets on a GPU");
    const int64_t rows = logits.size(0), classes = logits.size(1);
    TORCH_CHECK(rows <= INT32_MAX && classes <= INT32_MAX / 2, "too large for one grid");
    auto losses = torch::empty({rows}, logits.options()), mean = torch::empty({}, logits.options());

    const float* in = logits.data_ptr<float>();
    const cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    const auto kernel = classes % 4 == 0 && is_aligned(in) ? cross_entropy_row<4> : cross_entropy_row<1>;
    kernel<<<static_cast<unsigned>(rows), 512, 0, stream>>>(in, targets.data_ptr<int64_t>(), losses.data_ptr<float>(), static_cast<int>(classes));
    mean_of<<<1, 1024, 0, stream>>>(losses.data_ptr<float>(), mean.data_ptr<float>(), static_cast<int>(rows));
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "cross_entropy: ", cudaGetErrorString(error));
    return mean;
}
"""

extension = load_inline(name="assay_cross_entropy_mean", cpp_sources=CPP, cuda_sources=CUDA, functions=["cross_entropy_mean"])


class ModelNew(nn.Module):
    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return extension.cross_entropy_mean(logits, targets, torch.cuda.current_stream(logits.device).cuda_stream)
