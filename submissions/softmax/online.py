# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Softmax in two passes over memory: one finds maximum and sum together, the other writes the row from its end backwards."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor online_softmax(torch::Tensor x, int64_t stream);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>
#include <cstdint>

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / 32;
constexpr float kLog2e = 1.4426950408889634f;

template <int W>
struct alignas(4 * W) Pack {
    float v[W];
};

// Part of a softmax denominator: `sum` counts powers of two relative to `top`, the largest x * log2(e) so far.
// Every term and every merge uses the rounded `top` itself, so that its rounding error cancels in the quotient.
struct Partial {
    float top;
    float sum;

    __device__ void merge(float other_top, float other_sum) {
        const float joint = fmaxf(top, other_top);
        sum = sum * exp2f(top - joint) + other_sum * exp2f(other_top - joint);
        top = joint;
    }

    template <int W>
    __device__ void add(const Pack<W>& p) {
        float largest = p.v[0];
#pragma unroll
        for (int k = 1; k < W; ++k) largest = fmaxf(largest, p.v[k]);
        largest *= kLog2e;
        if (largest > top) {
            sum *= exp2f(top - largest);
            top = largest;
        }
#pragma unroll
        for (int k = 0; k < W; ++k) sum += exp2f(fmaf(p.v[k], kLog2e, -top));
    }
};

__device__ Partial merge_warp(Partial p) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const float top = __shfl_xor_sync(0xffffffffu, p.top, distance);
        const float sum = __shfl_xor_sync(0xffffffffu, p.sum, distance);
        p.merge(top, sum);
    }
    return p;
}

__device__ Partial merge_block(Partial p) {
    __shared__ Partial of_warp[kWarps];
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    p = merge_warp(p);
    if (lane == 0) of_warp[warp] = p;
    __syncthreads();
    return merge_warp(of_warp[lane]);
}

template <int W>
__global__ void __launch_bounds__(kThreads) softmax_row(const float* __restrict__ x, float* __restrict__ y, int64_t dim) {
    const int64_t offset = static_cast<int64_t>(blockIdx.x) * dim;
    const Pack<W>* in = reinterpret_cast<const Pack<W>*>(x + offset);
    Pack<W>* out = reinterpret_cast<Pack<W>*>(y + offset);
    const int64_t packs = dim / W;

    Partial mine{-FLT_MAX, 0.0f};
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < packs; i += kThreads) mine.add(in[i]);
    const Partial row = merge_block(mine);
    const float scale = 1.0f / row.sum;

    // Backwards, because the end of the row is what the L2 cache still holds.
#pragma unroll 4
    for (int64_t i = packs - 1 - threadIdx.x; i >= 0; i -= kThreads) {
        Pack<W> p = in[i];
#pragma unroll
        for (int k = 0; k < W; ++k) p.v[k] = exp2f(fmaf(p.v[k], kLog2e, -row.top)) * scale;
        out[i] = p;
    }
}

torch::Tensor online_softmax(torch::Tensor x, int64_t stream_handle) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "expected a float32 tensor on a GPU");
    TORCH_CHECK(x.dim() == 2 && x.is_contiguous(), "expected a contiguous matrix");
    torch::Tensor y = torch::empty_like(x);
    const int64_t rows = x.size(0);
    const int64_t dim = x.size(1);
    if (x.numel() == 0) return y;
    TORCH_CHECK(rows <= INT32_MAX, "too many rows for one grid");

    cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const bool vectors = dim % 4 == 0 && reinterpret_cast<uintptr_t>(in) % 16 == 0;
    if (vectors) {
        softmax_row<4><<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(in, out, dim);
    } else {
        softmax_row<1><<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(in, out, dim);
    }
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "softmax_row: ", cudaGetErrorString(error));
    return y;
}
"""

extension = load_inline(name="assay_online_softmax", cpp_sources=CPP, cuda_sources=CUDA, functions=["online_softmax"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.online_softmax(x, torch.cuda.current_stream(x.device).cuda_stream)
