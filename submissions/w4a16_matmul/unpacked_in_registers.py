# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Product with int4 weights: eight warps share the inner dimension, and unpack weights in registers on their way to the tensor cores."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor w4a16_matmul(torch::Tensor x, torch::Tensor packed, torch::Tensor scale, int64_t group, int64_t stream);
"""

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdint>

void check(const char* what) {
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, what, ": ", cudaGetErrorString(error));
}

constexpr int kRows = 32;     // of x for one block
constexpr int kColumns = 32;  // of the answer
constexpr int kWarps = 8;     // which share the inner dimension

__device__ uint32_t two(uint32_t byte, __half2 scale) {
    const __half2 codes = __halves2half2(__int2half_rn(static_cast<int>(byte & 15) - 8), __int2half_rn(static_cast<int>(byte >> 4 & 15) - 8));
    const __half2 value = __hmul2(codes, scale);
    return *reinterpret_cast<const uint32_t*>(&value);
}

// A warp takes 32 numbers of each row at a time. Which of them meet in one instruction does not matter, as long as both operands agree: a
// thread reads eight neighbours of a row of x, and the four bytes of the same eight of a column.
__global__ void __launch_bounds__(32 * kWarps) product(const __half* x, const uint8_t* packed, const __half* scale, __half* y, int rows,
                                                       int columns, int inner, int group) {
    __shared__ float parts[kWarps][kRows][kColumns + 1];
    const int warp = threadIdx.x / 32, of = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
    const int top = blockIdx.y * kRows, left = blockIdx.x * kColumns;
    float sums[2][4][4] = {};
    for (int start = warp * 32; start < inner; start += 32 * kWarps) {
        uint4 a[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = top + of + 8 * i;
            a[i] = make_uint4(0, 0, 0, 0);
            if (row < rows) a[i] = *reinterpret_cast<const uint4*>(x + static_cast<int64_t>(row) * inner + start + 8 * lane);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int column = left + 8 * j + of;
            uint32_t bytes = 0x88888888u;
            __half factor = __float2half_rn(0.0f);
            if (column < columns) {
                bytes = *reinterpret_cast<const uint32_t*>(packed + (static_cast<int64_t>(column) * inner + start) / 2 + 4 * lane);
                factor = scale[static_cast<int64_t>(column) * (inner / group) + start / group];
            }
            const __half2 both = __half2half2(factor);
            const uint32_t b[4] = {two(bytes & 255, both), two(bytes >> 8 & 255, both), two(bytes >> 16 & 255, both), two(bytes >> 24, both)};
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                float(&d)[4] = sums[i][j];
                const uint4 &up = a[2 * i], &low = a[2 * i + 1];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                             : "r"(up.x), "r"(low.x), "r"(up.y), "r"(low.y), "r"(b[0]), "r"(b[1]));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                             : "r"(up.z), "r"(low.z), "r"(up.w), "r"(low.w), "r"(b[2]), "r"(b[3]));
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e) parts[warp][16 * i + of + e / 2 * 8][8 * j + 2 * lane + e % 2] = sums[i][j][e];
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kRows * kColumns; i += 32 * kWarps) {
        const int row = i / kColumns, column = i % kColumns;
        float total = 0.0f;
        for (int part = 0; part < kWarps; ++part) total += parts[part][row][column];
        if (top + row < rows && left + column < columns) y[static_cast<int64_t>(top + row) * columns + left + column] = __float2half_rn(total);
    }
}

torch::Tensor w4a16_matmul(torch::Tensor x, torch::Tensor packed, torch::Tensor scale, int64_t group, int64_t stream_handle) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kHalf && x.is_contiguous(), "expected contiguous float16 on a GPU");
    TORCH_CHECK(packed.scalar_type() == torch::kByte && packed.is_contiguous() && scale.is_contiguous(), "expected contiguous weights");
    const int64_t rows = x.size(0), inner = x.size(1), columns = packed.size(0);
    TORCH_CHECK(inner % 32 == 0 && group % 32 == 0, "groups of a multiple of 32 are needed");
    auto y = torch::empty({rows, columns}, x.options());
    const dim3 grid((columns + kColumns - 1) / kColumns, (rows + kRows - 1) / kRows);
    product<<<grid, 32 * kWarps, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        reinterpret_cast<const __half*>(x.data_ptr()), packed.data_ptr<uint8_t>(), reinterpret_cast<const __half*>(scale.data_ptr()),
        reinterpret_cast<__half*>(y.data_ptr()), static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(inner),
        static_cast<int>(group));
    check("product");
    return y;
}
"""

extension = load_inline(name="assay_w4a16_matmul_unpacked_in_registers", cpp_sources=CPP, cuda_sources=CUDA, functions=["w4a16_matmul"])


class ModelNew(nn.Module):
    def __init__(self, group: int):
        super().__init__()
        self.group = group

    def forward(self, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return extension.w4a16_matmul(x, packed, scale, self.group, torch.cuda.current_stream(x.device).cuda_stream)
