# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Mean squared error from one read of both tensors: each block adds up its part, and one block the parts, in double."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor mse_mean(torch::Tensor x, torch::Tensor target, int64_t stream);"

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

// Each block's sum of squared differences goes to its own place; `packs` counts those of four, a scalar loop takes what is behind them.
__global__ void mse_part(const float* __restrict__ x, const float* __restrict__ target, double* __restrict__ parts, int64_t packs,
                         int64_t n) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const auto* a = reinterpret_cast<const Pack<4>*>(x);
    const auto* b = reinterpret_cast<const Pack<4>*>(target);
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 4
    for (int64_t i = first; i < packs; i += stride) {
        const Pack<4> one = a[i], other = b[i];
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[j] = fmaf(one.v[j] - other.v[j], one.v[j] - other.v[j], sums[j]);
    }
    for (int64_t i = 4 * packs + first; i < n; i += stride) sums[0] = fmaf(x[i] - target[i], x[i] - target[i], sums[0]);
    const float sum = across_block((sums[0] + sums[1]) + (sums[2] + sums[3]), 0.0f, add);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void mse_whole(const double* __restrict__ parts, float* __restrict__ mean, int count, int64_t n) {
    __shared__ double of_thread[256];
    double sum = 0.0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += parts[i];
    of_thread[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *mean = static_cast<float>(of_thread[0] / n);
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

torch::Tensor mse_mean(torch::Tensor x, torch::Tensor target, int64_t stream_handle) {
    TORCH_CHECK(is_fit(x) && is_fit(target) && x.sizes() == target.sizes(), "expected contiguous float32 tensors of one shape on a GPU");
    const int64_t n = x.numel();
    const float *a = x.data_ptr<float>(), *b = target.data_ptr<float>();
    const int64_t packs = is_aligned(a) && is_aligned(b) ? n / 4 : 0;
    const int blocks = static_cast<int>(std::min<int64_t>((std::max(packs, n - 4 * packs) + 255) / 256, 4096)) + (n == 0);
    auto parts = torch::empty({blocks}, x.options().dtype(torch::kDouble));
    auto mean = torch::empty({}, x.options());

    const cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    mse_part<<<blocks, 256, 0, stream>>>(a, b, parts.data_ptr<double>(), packs, n);
    mse_whole<<<1, 256, 0, stream>>>(parts.data_ptr<double>(), mean.data_ptr<float>(), blocks, n);
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "mse_mean: ", cudaGetErrorString(error));
    return mean;
}
"""

extension = load_inline(name="assay_mse_mean", cpp_sources=CPP, cuda_sources=CUDA, functions=["mse_mean"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return extension.mse_mean(x, target, torch.cuda.current_stream(x.device).cuda_stream)
