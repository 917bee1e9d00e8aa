# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Matrix product in full float32: 128 x 128 tiles, 8 x 8 sums in each thread's registers, the next tile fetched while this one is used."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor matmul_tiles(torch::Tensor a, torch::Tensor b, int64_t stream);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cstdint>

constexpr int kTile = 128;    // rows and columns of C for one block
constexpr int kDepth = 8;     // columns of A, rows of B held at a time
constexpr int kThreads = 256;
constexpr int kFetch = kTile * kDepth / kThreads;
constexpr int kPad = 4;       // spreads the transposed store of A over the banks

// A thread's 8 rows are two groups of four, 64 apart, and so are its columns: float4 reads of shared memory without conflicts.
__device__ __forceinline__ int spread(int group, int k) {
    return (k / 4) * (kTile / 2) + group * 4 + k % 4;
}

__global__ void __launch_bounds__(kThreads, 2) matmul_tile(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                                           int m, int n, int depth) {
    __shared__ __align__(16) float a_tile[kDepth][kTile + kPad];
    __shared__ __align__(16) float b_tile[kDepth][kTile];
    const int t = threadIdx.x;
    const int row_group = t / 16;
    const int column_group = t % 16;
    const int top = blockIdx.y * kTile;
    const int left = blockIdx.x * kTile;

    float a_next[kFetch];
    float b_next[kFetch];
    auto fetch = [&](int k0) {
#pragma unroll
        for (int f = 0; f < kFetch; ++f) {
            const int e = t + f * kThreads;
            const int a_row = top + e / kDepth;
            const int a_column = k0 + e % kDepth;
            const int b_row = k0 + e / kTile;
            const int b_column = left + e % kTile;
            a_next[f] = a_row < m && a_column < depth ? a[static_cast<int64_t>(a_row) * depth + a_column] : 0.0f;
            b_next[f] = b_row < depth && b_column < n ? b[static_cast<int64_t>(b_row) * n + b_column] : 0.0f;
        }
    };

    float sums[8][8] = {};
    fetch(0);
    for (int k0 = 0; k0 < depth; k0 += kDepth) {
#pragma unroll
        for (int f = 0; f < kFetch; ++f) {
            const int e = t + f * kThreads;
            a_tile[e % kDepth][e / kDepth] = a_next[f];
            b_tile[e / kTile][e % kTile] = b_next[f];
        }
        __syncthreads();
        if (k0 + kDepth < depth) fetch(k0 + kDepth);
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            __align__(16) float a_part[8];
            __align__(16) float b_part[8];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float* a_from = &a_tile[k][spread(row_group, 4 * half)];
                const float* b_from = &b_tile[k][spread(column_group, 4 * half)];
                *reinterpret_cast<float4*>(a_part + 4 * half) = *reinterpret_cast<const float4*>(a_from);
                *reinterpret_cast<float4*>(b_part + 4 * half) = *reinterpret_cast<const float4*>(b_from);
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
#pragma unroll
                for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(a_part[i], b_part[j], sums[i][j]);
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = top + spread(row_group, i);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int column = left + spread(column_group, j);
            if (row < m && column < n) c[static_cast<int64_t>(row) * n + column] = sums[i][j];
        }
    }
}

torch::Tensor matmul_tiles(torch::Tensor a, torch::Tensor b, int64_t stream_handle) {
    for (const torch::Tensor& t : {a, b}) {
        TORCH_CHECK(t.is_cuda() && t.scalar_type() == torch::kFloat32, "expected float32 tensors on a GPU");
        TORCH_CHECK(t.dim() == 2 && t.is_contiguous(), "expected contiguous matrices");
    }
    TORCH_CHECK(a.size(1) == b.size(0), "inner dimensions differ");
    constexpr int64_t kMost = INT32_MAX - kTile;
    TORCH_CHECK(a.size(0) <= kMost && b.size(1) <= kMost && a.size(1) <= kMost, "a dimension is too large for 32-bit indices");
    const int m = static_cast<int>(a.size(0));
    const int n = static_cast<int>(b.size(1));
    const int depth = static_cast<int>(a.size(1));
    torch::Tensor c = torch::empty({m, n}, a.options());
    if (c.numel() == 0) return c;
    const int tall = (m + kTile - 1) / kTile;
    TORCH_CHECK(tall <= 65535, "too many rows for one grid");
    const dim3 grid(static_cast<unsigned>((n + kTile - 1) / kTile), static_cast<unsigned>(tall));
    cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    matmul_tile<<<grid, kThreads, 0, stream>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, depth);
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "matmul_tile: ", cudaGetErrorString(error));
    return c;
}
"""

extension = load_inline(name="assay_matmul_tiles", cpp_sources=CPP, cuda_sources=CUDA, functions=["matmul_tiles"])


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return extension.matmul_tiles(a, b, torch.cuda.current_stream(a.device).cuda_stream)
