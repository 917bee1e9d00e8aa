# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Residual and RMS norm in one pass: a block for each row, which stays in registers between the sum and the scaling."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "std::vector<torch::Tensor> add_rms_norm(torch::Tensor x, torch::Tensor residual, torch::Tensor weight, double eps, int64_t stream);"

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

// A thread keeps its first kKept packs of the row's sum in registers, and reads others again from where it has written them.
template <int N>
__global__ void add_rms_norm_row(const float* __restrict__ x, const float* __restrict__ residual, const float* __restrict__ weight,
                                 float* __restrict__ y, float* total, int columns, float eps) {
    constexpr int kKept = 8 / N * 2;
    const int64_t start = static_cast<int64_t>(blockIdx.x) * columns;
    const auto* in = reinterpret_cast<const Pack<N>*>(x + start);
    const auto* more = reinterpret_cast<const Pack<N>*>(residual + start);
    const auto* factors = reinterpret_cast<const Pack<N>*>(weight);
    auto* sums = reinterpret_cast<Pack<N>*>(total + start);
    auto* out = reinterpret_cast<Pack<N>*>(y + start);
    const int count = columns / N;

    Pack<N> kept[kKept];
    float squares = 0.0f;
    auto join = [&](int i) {
        Pack<N> a = in[i];
        const Pack<N> b = more[i];
#pragma unroll
        for (int j = 0; j < N; ++j) {
            a.v[j] += b.v[j];
            squares = fmaf(a.v[j], a.v[j], squares);
        }
        sums[i] = a;
        return a;
    };
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
        const int i = threadIdx.x + k * blockDim.x;
        if (i < count) kept[k] = join(i);
    }
    for (int i = threadIdx.x + kKept * blockDim.x; i < count; i += blockDim.x) join(i);

    const float scale = rsqrtf(across_block(squares, 0.0f, add) / columns + eps);
    auto normalize = [&](Pack<N> a, int i) {
        const Pack<N> factor = factors[i];
#pragma unroll
        for (int j = 0; j < N; ++j) a.v[j] = a.v[j] * scale * factor.v[j];
        out[i] = a;
    };
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
        const int i = threadIdx.x + k * blockDim.x;
        if (i < count) normalize(kept[k], i);
    }
    for (int i = threadIdx.x + kKept * blockDim.x; i < count; i += blockDim.x) normalize(sums[i], i);
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

std::vector<torch::Tensor> add_rms_norm(torch::Tensor x, torch::Tensor residual, torch::Tensor weight, double eps, int64_t stream_handle) {
    TORCH_CHECK(is_fit(x) && is_fit(residual) && is_fit(weight), "expected contiguous float32 tensors on a GPU");
    const int64_t columns = weight.numel(), rows = x.numel() / columns;
    TORCH_CHECK(columns <= INT32_MAX && rows <= INT32_MAX, "too large for one grid");
    auto y = torch::empty_like(x), total = torch::empty_like(x);
    if (x.numel() == 0) return {y, total};

    const float *in = x.data_ptr<float>(), *more = residual.data_ptr<float>(), *factors = weight.data_ptr<float>();
    const bool wide = columns % 4 == 0 && is_aligned(in) && is_aligned(more) && is_aligned(factors);
    const auto kernel = wide ? add_rms_norm_row<4> : add_rms_norm_row<1>;
    kernel<<<static_cast<unsigned>(rows), 512, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        in, more, factors, y.data_ptr<float>(), total.data_ptr<float>(), static_cast<int>(columns), static_cast<float>(eps));
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "add_rms_norm_row: ", cudaGetErrorString(error));
    return {y, total};
}
"""

extension = load_inline(name="assay_add_rms_norm", cpp_sources=CPP, cuda_sources=CUDA, functions=["add_rms_norm"])


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-6)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        stream = torch.cuda.current_stream(x.device).cuda_stream
        y, total = extension.add_rms_norm(x, residual, self.norm.weight.detach(), self.norm.eps, stream)
        return y, total
