# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""A shard of a SwiGLU block in two kernels: the ranks' tokens are read where they lie, by blocks of one grid."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
std::vector<torch::Tensor> tensor_parallel_mlp(std::vector<torch::Tensor> tokens, torch::Tensor gate, torch::Tensor up, torch::Tensor down,
                                               int64_t stream);
"""

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cstdint>
#include <vector>

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

constexpr int kMostRanks = 16;

struct Ranks {
    const uint32_t* tokens[kMostRanks];
    __nv_bfloat16* answers[kMostRanks];
};

// The gate's and the value's product of one tile of one rank's tokens, which share what is read of these; their units follow at once.
__global__ void __launch_bounds__(kThreads) open_units(Ranks ranks, const uint32_t* gate, const uint32_t* up, __nv_bfloat16* units, int rows, int dim,
                                                 int hidden) {
    __shared__ __align__(16) uint32_t a[kTile][kStride];
    __shared__ __align__(16) uint32_t b[kTile][kStride];
    __shared__ __align__(16) uint32_t c[kTile][kStride];
    const int rank = blockIdx.z, top = blockIdx.y * kTile, left = blockIdx.x * kTile, words = dim / 2;
    Sums gates, values;
    auto unit_of = [&](int row) { return left + row < hidden ? left + row : -1; };
    for (int start = 0; start < words; start += kWords) {
        fetch(a, ranks.tokens[rank], [&](int row) { return top + row < rows ? top + row : -1; }, words, start);
        fetch(b, gate, unit_of, words, start);
        fetch(c, up, unit_of, words, start);
        __syncthreads();
        multiply(a, b, gates, Bfloat16Step());
        multiply(a, c, values, Bfloat16Step());
        __syncthreads();
    }
    each_sum([&](int row, int column, int i, int j, int e) {
        if (top + row >= rows || left + column >= hidden) return;
        const float x = gates.v[i][j][e];
        units[(static_cast<int64_t>(rank) * rows + top + row) * hidden + left + column] =
            __float2bfloat16_rn(x / (1.0f + expf(-x)) * values.v[i][j][e]);
    });
}

__global__ void __launch_bounds__(kThreads) close_units(Ranks ranks, const uint32_t* units, const uint32_t* down, int rows, int dim, int hidden) {
    __shared__ __align__(16) uint32_t a[kTile][kStride];
    __shared__ __align__(16) uint32_t b[kTile][kStride];
    const int rank = blockIdx.z, top = blockIdx.y * kTile, left = blockIdx.x * kTile, words = hidden / 2;
    Sums sums;
    for (int start = 0; start < words; start += kWords) {
        fetch(a, units, [&](int row) { return top + row < rows ? rank * rows + top + row : -1; }, words, start);
        fetch(b, down, [&](int row) { return left + row < dim ? left + row : -1; }, words, start);
        __syncthreads();
        multiply(a, b, sums, Bfloat16Step());
        __syncthreads();
    }
    each_sum([&](int row, int column, int i, int j, int e) {
        if (top + row < rows && left + column < dim) {
            ranks.answers[rank][static_cast<int64_t>(top + row) * dim + left + column] = __float2bfloat16_rn(sums.v[i][j][e]);
        }
    });
}

std::vector<torch::Tensor> tensor_parallel_mlp(std::vector<torch::Tensor> tokens, torch::Tensor gate, torch::Tensor up, torch::Tensor down,
                                               int64_t stream_handle) {
    TORCH_CHECK(!tokens.empty() && tokens.size() <= kMostRanks, "one to 16 ranks are needed");
    const int64_t rows = tokens[0].size(0), dim = gate.size(1), hidden = gate.size(0), count = tokens.size();
    TORCH_CHECK(dim % 8 == 0 && hidden % 8 == 0, "rows of whole 16 bytes are needed");
    Ranks ranks;
    std::vector<torch::Tensor> answers;
    for (int64_t rank = 0; rank < count; ++rank) {
        const torch::Tensor& x = tokens[rank];
        TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kBFloat16 && x.is_contiguous() && x.size(0) == rows,
                    "expected contiguous bfloat16 on a GPU, as many rows of each rank");
        answers.push_back(torch::empty_like(x));
        ranks.tokens[rank] = reinterpret_cast<const uint32_t*>(x.data_ptr());
        ranks.answers[rank] = reinterpret_cast<__nv_bfloat16*>(answers.back().data_ptr());
    }
    auto units = torch::empty({count * rows, hidden}, gate.options());
    const auto stream = reinterpret_cast<cudaStream_t>(stream_handle);
    const unsigned tall = (rows + kTile - 1) / kTile, deep = static_cast<unsigned>(count);
    open_units<<<dim3((hidden + kTile - 1) / kTile, tall, deep), kThreads, 0, stream>>>(
        ranks, reinterpret_cast<const uint32_t*>(gate.data_ptr()), reinterpret_cast<const uint32_t*>(up.data_ptr()),
        reinterpret_cast<__nv_bfloat16*>(units.data_ptr()), static_cast<int>(rows), static_cast<int>(dim), static_cast<int>(hidden));
    check("open_units");
    close_units<<<dim3((dim + kTile - 1) / kTile, tall, deep), kThreads, 0, stream>>>(
        ranks, reinterpret_cast<const uint32_t*>(units.data_ptr()), reinterpret_cast<const uint32_t*>(down.data_ptr()), static_cast<int>(rows),
        static_cast<int>(dim), static_cast<int>(hidden));
    check("close_units");
    return answers;
}
"""

extension = load_inline(name="assay_tensor_parallel_mlp_ranks_in_one_grid", cpp_sources=CPP, cuda_sources=CUDA, functions=["tensor_parallel_mlp"])


class ModelNew(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, tokens: list[torch.Tensor]) -> list[torch.Tensor]:
        weights = (layer.weight.detach() for layer in (self.gate, self.up, self.down))
        return extension.tensor_parallel_mlp(tokens, *weights, torch.cuda.current_stream(tokens[0].device).cuda_stream)
