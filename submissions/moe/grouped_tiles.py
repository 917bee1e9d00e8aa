# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Mixture of experts in three kernels: the router's choices become tiles of one expert each, tiles are multiplied, and gates add them up."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor moe(torch::Tensor x, torch::Tensor chosen, torch::Tensor gates, torch::Tensor weight, int64_t stream);
"""

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cstdint>

constexpr int kTile = 128;     // rows and columns of a block's part
constexpr int kThreads = 256;  // eight warps, each with 64 rows and 32 columns
constexpr int kWords = 16;     // words of 32 bits of a row that are held at a time
constexpr int kStride = kWords + 4;

struct Sums {
    float v[4][4][4] = {};  // tiles of 16 rows, of 8 columns, and a thread's four of each
};

// 128 rows of `words` words each from `row`, into shared memory; zeros beyond the end of rows and of their words.
template <typename RowOf>
__device__ void fetch(uint32_t (*tile)[kStride], const uint32_t* from, RowOf row_of, int words, int start) {
    for (int i = threadIdx.x; i < kTile * (kWords / 4); i += kThreads) {
        const int row = i / (kWords / 4), word = i % (kWords / 4) * 4;
        const int64_t at = row_of(row);
        uint4 value = make_uint4(0, 0, 0, 0);
        if (at >= 0 && start + word < words) value = *reinterpret_cast<const uint4*>(from + at * words + start + word);
        *reinterpret_cast<uint4*>(&tile[row][word]) = value;
    }
}

// Adds the product of two tiles, each of rows of kWords words: sums of 16 x 8 by `Multiply`, eight words of each row at a time.
template <typename Multiply>
__device__ void multiply(const uint32_t (*a)[kStride], const uint32_t (*b)[kStride], Sums& sums, Multiply step) {
    const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
    const int top = warp / 4 * 64, left = warp % 4 * 32;
#pragma unroll
    for (int k = 0; k < kWords; k += 8) {
        uint32_t right[4][2];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            right[j][0] = b[left + 8 * j + group][k + lane];
            right[j][1] = b[left + 8 * j + group][k + lane + 4];
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = top + 16 * i + group;
            const uint32_t parts[4] = {a[row][k + lane], a[row + 8][k + lane], a[row][k + lane + 4], a[row + 8][k + lane + 4]};
#pragma unroll
            for (int j = 0; j < 4; ++j) step(sums.v[i][j], parts, right[j]);
        }
    }
}

// Calls done(row, column, i, j, e) for each of a thread's sums; row and column within the tile.
template <typename Done>
__device__ void each_sum(Done done) {
    const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                done(warp / 4 * 64 + 16 * i + group + e / 2 * 8, warp % 4 * 32 + 8 * j + lane * 2 + e % 2, i, j, e);
            }
        }
    }
}

struct Bfloat16Step {
    __device__ void operator()(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) const {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};

void check(const char* what) {
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, what, ": ", cudaGetErrorString(error));
}

constexpr int kMostExperts = 1024;

// One block: counts what each expert was given, and hands out places and tiles. begins[e] is the first place of expert e, tiles[t] the
// expert of tile t and its first place; what is left of the tiles is empty.
__global__ void route(const int64_t* chosen, int* places, int* begins, int2* tiles, int count, int experts, int most_tiles) {
    __shared__ int sizes[kMostExperts], next[kMostExperts];
    for (int e = threadIdx.x; e < experts; e += blockDim.x) sizes[e] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(&sizes[chosen[i]], 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        int begin = 0, tile = 0;
        for (int e = 0; e < experts; ++e) {
            begins[e] = next[e] = begin;
            for (int first = begin; first < begin + sizes[e]; first += kTile) tiles[tile++] = make_int2(e, first);
            begin += sizes[e];
        }
        begins[experts] = begin;
        while (tile < most_tiles) tiles[tile++] = make_int2(-1, 0);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) places[atomicAdd(&next[chosen[i]], 1)] = i;
}

// Row `place` of an expert's product goes to where its pair of token and choice stands, whatever order the places came in.
__global__ void __launch_bounds__(kThreads) product(const uint32_t* x, const uint32_t* weight, const int* places, const int* begins,
                                                    const int2* tiles, float* parts, int dim, int hidden, int each) {
    __shared__ __align__(16) uint32_t a[kTile][kStride];
    __shared__ __align__(16) uint32_t b[kTile][kStride];
    __shared__ int pairs[kTile];
    const int2 tile = tiles[blockIdx.y];
    if (tile.x < 0) return;
    const int left = blockIdx.x * kTile, words = dim / 2, end = begins[tile.x + 1];
    for (int i = threadIdx.x; i < kTile; i += kThreads) pairs[i] = tile.y + i < end ? places[tile.y + i] : -1;
    __syncthreads();
    const uint32_t* own = weight + static_cast<int64_t>(tile.x) * hidden * words;
    Sums sums;
    for (int start = 0; start < words; start += kWords) {
        fetch(a, x, [&](int row) { return pairs[row] < 0 ? -1 : pairs[row] / each; }, words, start);
        fetch(b, own, [&](int row) { return left + row < hidden ? left + row : -1; }, words, start);
        __syncthreads();
        multiply(a, b, sums, Bfloat16Step());
        __syncthreads();
    }
    each_sum([&](int row, int column, int i, int j, int e) {
        if (pairs[row] >= 0 && left + column < hidden) parts[static_cast<int64_t>(pairs[row]) * hidden + left + column] = sums.v[i][j][e];
    });
}

__global__ void combine(const float* parts, const __nv_bfloat16* gates, __nv_bfloat16* y, int64_t count, int hidden, int each) {
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
        const int64_t token = i / hidden, column = i % hidden;
        float total = 0.0f;
        for (int64_t pair = token * each; pair < (token + 1) * each; ++pair) total += parts[pair * hidden + column] * __bfloat162float(gates[pair]);
        y[i] = __float2bfloat16_rn(total);
    }
}

torch::Tensor moe(torch::Tensor x, torch::Tensor chosen, torch::Tensor gates, torch::Tensor weight, int64_t stream_handle) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kBFloat16 && x.is_contiguous(), "expected contiguous bfloat16 on a GPU");
    TORCH_CHECK(chosen.is_contiguous() && gates.is_contiguous() && weight.is_contiguous(), "expected contiguous tensors");
    const int64_t tokens = x.size(0), dim = x.size(1), experts = weight.size(0), hidden = weight.size(1), each = chosen.size(1);
    TORCH_CHECK(dim % 8 == 0 && experts <= kMostExperts, "rows of whole 16 bytes, and at most 1024 experts, are needed");
    const auto whole = x.options().dtype(torch::kInt);
    const int64_t pairs = tokens * each, most_tiles = (pairs + kTile - 1) / kTile + experts;
    auto places = torch::empty({pairs}, whole), begins = torch::empty({experts + 1}, whole), tiles = torch::empty({most_tiles, 2}, whole);
    auto parts = torch::empty({pairs, hidden}, x.options().dtype(torch::kFloat));
    auto y = torch::empty({tokens, hidden}, x.options());
    const auto stream = reinterpret_cast<cudaStream_t>(stream_handle);
    int2* table = reinterpret_cast<int2*>(tiles.data_ptr<int>());
    route<<<1, 1024, 0, stream>>>(chosen.data_ptr<int64_t>(), places.data_ptr<int>(), begins.data_ptr<int>(), table, static_cast<int>(pairs),
                                  static_cast<int>(experts), static_cast<int>(most_tiles));
    check("route");
    const dim3 grid((hidden + kTile - 1) / kTile, most_tiles);
    product<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const uint32_t*>(x.data_ptr()), reinterpret_cast<const uint32_t*>(weight.data_ptr()),
                                           places.data_ptr<int>(), begins.data_ptr<int>(), table, parts.data_ptr<float>(),
                                           static_cast<int>(dim), static_cast<int>(hidden), static_cast<int>(each));
    check("product");
    combine<<<2048, 256, 0, stream>>>(parts.data_ptr<float>(), reinterpret_cast<const __nv_bfloat16*>(gates.data_ptr()),
                                      reinterpret_cast<__nv_bfloat16*>(y.data_ptr()), tokens * hidden, static_cast<int>(hidden),
                                      static_cast<int>(each));
    check("combine");
    return y;
}
"""

extension = load_inline(name="assay_moe_grouped_tiles", cpp_sources=CPP, cuda_sources=CUDA, functions=["moe"])


class ModelNew(nn.Module):
    def __init__(self, experts: int, dim: int, hidden: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(experts, hidden, dim) / dim**0.5)

    def forward(self, x: torch.Tensor, chosen: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
        return extension.moe(x, chosen, gates, self.weight.detach(), torch.cuda.current_stream(x.device).cuda_stream)
