# author: assay
# expect: cuda incorrect/precision_loss
# expect: cpu not_evaluated/no_device
"""Wrong: rounds to FP8 as asked, turns both operands back into bfloat16, and multiplies these."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor fp8_matmul(torch::Tensor x, torch::Tensor weight, torch::Tensor scale, int64_t block, int64_t stream);
"""

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <algorithm>
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

__device__ float decoded(uint8_t code) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3)));
}

// A warp for each group of a row: rounded to FP8, and turned back into bfloat16 at once.
__global__ void round_groups(const __half* x, __nv_bfloat16* y, int64_t groups, int block) {
    const int64_t number = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (number >= groups) return;
    const __half* in = x + number * block;
    float largest = 1e-20f;
    for (int i = threadIdx.x % 32; i < block; i += 32) largest = fmaxf(largest, fabsf(__half2float(in[i])));
    for (int offset = 16; offset; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    int exponent;
    if (frexpf(largest / 448.0f, &exponent) == 0.5f) --exponent;
    const float scale = ldexpf(1.0f, exponent);
    for (int i = threadIdx.x % 32; i < block; i += 32) {
        const uint8_t code = __nv_cvt_float_to_fp8(__half2float(in[i]) / scale, __NV_SATFINITE, __NV_E4M3);
        y[number * block + i] = __float2bfloat16_rn(decoded(code) * scale);
    }
}

__global__ void decode(const uint8_t* codes, const float* factors, __nv_bfloat16* y, int64_t count, int inner, int block) {
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
        y[i] = __float2bfloat16_rn(decoded(codes[i]) * factors[i / inner / block * (inner / block) + i % inner / block]);
    }
}

__global__ void __launch_bounds__(kThreads) product(const uint32_t* x, const uint32_t* weight, __half* y, int rows, int columns, int inner) {
    __shared__ __align__(16) uint32_t a[kTile][kStride];
    __shared__ __align__(16) uint32_t b[kTile][kStride];
    const int top = blockIdx.y * kTile, left = blockIdx.x * kTile, words = inner / 2;
    Sums sums;
    for (int start = 0; start < words; start += kWords) {
        fetch(a, x, [&](int row) { return top + row < rows ? top + row : -1; }, words, start);
        fetch(b, weight, [&](int row) { return left + row < columns ? left + row : -1; }, words, start);
        __syncthreads();
        multiply(a, b, sums, Bfloat16Step());
        __syncthreads();
    }
    each_sum([&](int row, int column, int i, int j, int e) {
        if (top + row < rows && left + column < columns) {
            y[static_cast<int64_t>(top + row) * columns + left + column] = __float2half_rn(sums.v[i][j][e]);
        }
    });
}

torch::Tensor fp8_matmul(torch::Tensor x, torch::Tensor weight, torch::Tensor scale, int64_t block, int64_t stream_handle) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kHalf && x.is_contiguous(), "expected contiguous float16 on a GPU");
    TORCH_CHECK(weight.scalar_type() == torch::kFloat8_e4m3fn && weight.is_contiguous(), "expected contiguous weights in float8_e4m3fn");
    TORCH_CHECK(scale.scalar_type() == torch::kFloat && scale.is_contiguous(), "expected contiguous scales in float32");
    const int64_t rows = x.size(0), inner = x.size(1), columns = weight.size(0), groups = rows * inner / block;
    TORCH_CHECK(inner % 8 == 0 && inner % block == 0, "whole blocks are needed");
    auto narrow = torch::empty({rows, inner}, x.options().dtype(torch::kBFloat16));
    auto wide = torch::empty({columns, inner}, narrow.options());
    auto y = torch::empty({rows, columns}, x.options());
    const auto stream = reinterpret_cast<cudaStream_t>(stream_handle);
    round_groups<<<static_cast<unsigned>((groups + 7) / 8), 256, 0, stream>>>(
        reinterpret_cast<const __half*>(x.data_ptr()), reinterpret_cast<__nv_bfloat16*>(narrow.data_ptr()), groups, static_cast<int>(block));
    decode<<<1024, 256, 0, stream>>>(reinterpret_cast<const uint8_t*>(weight.data_ptr()), scale.data_ptr<float>(),
                                     reinterpret_cast<__nv_bfloat16*>(wide.data_ptr()), columns * inner, static_cast<int>(inner),
                                     static_cast<int>(block));
    const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
    product<<<grid, kThreads, 0, stream>>>(
        reinterpret_cast<const uint32_t*>(narrow.data_ptr()), reinterpret_cast<const uint32_t*>(wide.data_ptr()),
        reinterpret_cast<__half*>(y.data_ptr()), static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(inner));
    check("product");
    return y;
}
"""

extension = load_inline(name="assay_fp8_matmul_bfloat16_in_disguise", cpp_sources=CPP, cuda_sources=CUDA, functions=["fp8_matmul"])


class ModelNew(nn.Module):
    def __init__(self, block: int):
        super().__init__()
        self.block = block

    def forward(self, x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return extension.fp8_matmul(x, weight, scale, self.block, torch.cuda.current_stream(x.device).cuda_stream)
