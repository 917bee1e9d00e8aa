# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Softmax that reads the input once: a cluster of blocks keeps a whole row in its shared memory (Hopper and later)."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor cluster_softmax(torch::Tensor x, int64_t stream);"

CUDA = r"""
#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <cfloat>
#include <cstdint>

namespace cg = cooperative_groups;

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr float kLog2e = 1.4426950408889634f;

template <int W>
struct alignas(4 * W) Pack {
    float v[W];
};

struct Partial {
    float top;  // largest x * log2(e), rounded; every term uses the rounded value, so the error cancels in the quotient
    float sum;  // of 2^(x * log2(e) - top)
};

struct Largest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

template <typename Op>
__device__ float reduce_block(float value, float* of_warp, Op op) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, d));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[threadIdx.x % kWarps];
#pragma unroll
    for (int d = kWarps / 2; d > 0; d /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, d));
    return value;
}

// One cluster of C blocks for each row; each block keeps `share` packs of it. A thread only ever touches its own packs of
// `kept`, so none but the reductions need a barrier.
template <int C, int W>
__global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(kThreads, 2)
softmax_cluster(const float* __restrict__ x, float* __restrict__ y, int64_t dim, int share) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ float maxima[kWarps];
    __shared__ float sums[kWarps];
    __shared__ Partial mine;
    Pack<W>* kept = reinterpret_cast<Pack<W>*>(memory);
    cg::cluster_group cluster = cg::this_cluster();

    const int64_t packs = dim / W;
    const int64_t begin = static_cast<int64_t>(cluster.block_rank()) * share;
    const int count = static_cast<int>(max(int64_t{0}, min(static_cast<int64_t>(share), packs - begin)));
    const int64_t offset = static_cast<int64_t>(blockIdx.x / C) * dim + begin * W;
    const Pack<W>* in = reinterpret_cast<const Pack<W>*>(x + offset);
    Pack<W>* out = reinterpret_cast<Pack<W>*>(y + offset);

    float top = -FLT_MAX;
#pragma unroll 6
    for (int i = threadIdx.x; i < count; i += kThreads) {
        const Pack<W> p = in[i];
        kept[i] = p;
#pragma unroll
        for (int k = 0; k < W; ++k) top = fmaxf(top, p.v[k]);
    }
    top = fmaxf(reduce_block(top, maxima, Largest{}) * kLog2e, -FLT_MAX);

    float sum = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < count; i += kThreads) {
        Pack<W> p = kept[i];
#pragma unroll
        for (int k = 0; k < W; ++k) {
            p.v[k] = exp2f(fmaf(p.v[k], kLog2e, -top));
            sum += p.v[k];
        }
        kept[i] = p;
    }
    sum = reduce_block(sum, sums, Sum{});
    if (threadIdx.x == 0) mine = Partial{top, sum};
    cluster.sync();

    float row_top = -FLT_MAX;
    Partial of_block[C];
#pragma unroll
    for (int r = 0; r < C; ++r) {
        of_block[r] = *cluster.map_shared_rank(&mine, r);
        row_top = fmaxf(row_top, of_block[r].top);
    }
    float row_sum = 0.0f;
#pragma unroll
    for (int r = 0; r < C; ++r) row_sum = fmaf(of_block[r].sum, exp2f(of_block[r].top - row_top), row_sum);
    auto token = cluster.barrier_arrive();

    const float scale = exp2f(top - row_top) / row_sum;
#pragma unroll 4
    for (int i = threadIdx.x; i < count; i += kThreads) {
        Pack<W> p = kept[i];
#pragma unroll
        for (int k = 0; k < W; ++k) p.v[k] *= scale;
        out[i] = p;
    }
    // A block's shared memory must outlive its neighbours' reads of it.
    cluster.barrier_wait(std::move(token));
#endif
}

template <int C, int W>
cudaError_t launch(const float* x, float* y, int64_t rows, int64_t dim, cudaStream_t stream) {
    const int64_t packs = dim / W;
    const int share = static_cast<int>((packs + C - 1) / C);
    const size_t bytes = static_cast<size_t>(share) * sizeof(Pack<W>);
    auto kernel = softmax_cluster<C, W>;
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (error == cudaSuccess && C > 8) error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error != cudaSuccess) return error;
    kernel<<<static_cast<unsigned>(rows * C), kThreads, bytes, stream>>>(x, y, dim, share);
    return cudaGetLastError();
}

// The smallest cluster of which two blocks fit on one multiprocessor, so that one can load while the other stores.
template <int W>
cudaError_t launch_fitting(const float* x, float* y, int64_t rows, int64_t dim, cudaStream_t stream) {
    constexpr int64_t kComfortable = 104 * 1024;
    const int64_t bytes = dim * static_cast<int64_t>(sizeof(float));
    if (bytes <= kComfortable) return launch<1, W>(x, y, rows, dim, stream);
    if (bytes <= 4 * kComfortable) return launch<4, W>(x, y, rows, dim, stream);
    return launch<16, W>(x, y, rows, dim, stream);
}

torch::Tensor cluster_softmax(torch::Tensor x, int64_t stream_handle) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "expected a float32 tensor on a GPU");
    TORCH_CHECK(x.dim() == 2 && x.is_contiguous(), "expected a contiguous matrix");
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, x.get_device());
    TORCH_CHECK(major >= 9, "clusters need compute capability 9.0");
    torch::Tensor y = torch::empty_like(x);
    const int64_t rows = x.size(0);
    const int64_t dim = x.size(1);
    if (x.numel() == 0) return y;
    TORCH_CHECK(rows <= INT32_MAX / 16, "too many rows for one grid");
    TORCH_CHECK(dim <= 16 * 224 * 1024 / 4, "the row does not fit into the shared memory of 16 blocks");

    cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const bool vectors = dim % 4 == 0 && reinterpret_cast<uintptr_t>(in) % 16 == 0;
    const cudaError_t error = vectors ? launch_fitting<4>(in, out, rows, dim, stream) : launch_fitting<1>(in, out, rows, dim, stream);
    TORCH_CHECK(error == cudaSuccess, "softmax_cluster: ", cudaGetErrorString(error));
    return y;
}
"""

extension = load_inline(name="assay_cluster_softmax", cpp_sources=CPP, cuda_sources=CUDA, functions=["cluster_softmax"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.cluster_softmax(x, torch.cuda.current_stream(x.device).cuda_stream)
