# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Paged decode attention: a block for each sequence and group of heads reads each key and value once for all four heads."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor paged_attention(torch::Tensor query, torch::Tensor keys, torch::Tensor values, torch::Tensor table, torch::Tensor lengths,
                              int64_t stream);
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

constexpr int kWarps = 16;

// A block for a sequence and a group of heads that share keys: each warp takes every sixteenth position for all of the group's heads, and
// keeps the largest score, the sum of powers and the weighted sum of each. In the end the warps' are brought to one scale and added up.
template <int kEach, int kShared>
__global__ void __launch_bounds__(32 * kWarps) attend(const __half* query, const __half* keys, const __half* values, const int64_t* table,
                                                      const int64_t* lengths, __half* y, int groups, int page, int pages, float factor) {
    constexpr int kWidth = 32 * kEach;
    __shared__ float sums[kWarps][kShared][kWidth], largest[kWarps][kShared], totals[kWarps][kShared];
    const int sequence = blockIdx.y, group = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t first = (static_cast<int64_t>(sequence) * groups + group) * kShared * kWidth;
    float q[kShared][kEach], own[kShared][kEach] = {}, most[kShared], total[kShared] = {};
#pragma unroll
    for (int h = 0; h < kShared; ++h) {
        most[h] = -INFINITY;
#pragma unroll
        for (int i = 0; i < kEach; ++i) q[h][i] = __half2float(query[first + h * kWidth + lane * kEach + i]) * factor;
    }
    const int64_t length = lengths[sequence];
    for (int64_t position = warp; position < length; position += kWarps) {
        const int64_t number = table[static_cast<int64_t>(sequence) * pages + position / page];
        const int64_t at = ((number * page + position % page) * groups + group) * kWidth + lane * kEach;
        float k[kEach], v[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) k[i] = __half2float(keys[at + i]), v[i] = __half2float(values[at + i]);
#pragma unroll
        for (int h = 0; h < kShared; ++h) {
            float score = 0.0f;
#pragma unroll
            for (int i = 0; i < kEach; ++i) score = fmaf(q[h][i], k[i], score);
            for (int offset = 16; offset; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
            const float now = fmaxf(most[h], score), fade = expf(most[h] - now), weight = expf(score - now);
            most[h] = now;
            total[h] = total[h] * fade + weight;
#pragma unroll
            for (int i = 0; i < kEach; ++i) own[h][i] = own[h][i] * fade + weight * v[i];
        }
    }
#pragma unroll
    for (int h = 0; h < kShared; ++h) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) sums[warp][h][lane * kEach + i] = own[h][i];
        if (lane == 0) largest[warp][h] = most[h], totals[warp][h] = total[h];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kShared * kWidth; i += 32 * kWarps) {
        const int h = i / kWidth;
        float top = -INFINITY, all = 0.0f, sum = 0.0f;
        for (int w = 0; w < kWarps; ++w) top = fmaxf(top, largest[w][h]);
        for (int w = 0; w < kWarps; ++w) {
            const float scale = expf(largest[w][h] - top);
            all += totals[w][h] * scale;
            sum += sums[w][h][i % kWidth] * scale;
        }
        y[first + i] = __float2half_rn(sum / all);
    }
}

torch::Tensor paged_attention(torch::Tensor query, torch::Tensor keys, torch::Tensor values, torch::Tensor table, torch::Tensor lengths,
                              int64_t stream_handle) {
    TORCH_CHECK(query.is_cuda() && query.scalar_type() == torch::kHalf, "expected float16 on a GPU");
    for (const torch::Tensor& t : {query, keys, values, table, lengths}) TORCH_CHECK(t.is_contiguous(), "expected contiguous tensors");
    const int64_t width = query.size(2), page = keys.size(1), groups = keys.size(2), pages = table.size(1);
    TORCH_CHECK((width == 64 || width == 128) && query.size(1) == 4 * groups, "heads of 64 or 128 numbers, four to a group, are needed");
    auto y = torch::empty_like(query);
    const dim3 grid(groups, query.size(0));
    const auto kernel = width == 128 ? attend<4, 4> : attend<2, 4>;
    kernel<<<grid, 32 * kWarps, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        reinterpret_cast<const __half*>(query.data_ptr()), reinterpret_cast<const __half*>(keys.data_ptr()),
        reinterpret_cast<const __half*>(values.data_ptr()), table.data_ptr<int64_t>(), lengths.data_ptr<int64_t>(),
        reinterpret_cast<__half*>(y.data_ptr()), static_cast<int>(groups), static_cast<int>(page), static_cast<int>(pages),
        1.0f / sqrtf(static_cast<float>(width)));
    check("attend");
    return y;
}
"""

extension = load_inline(name="assay_paged_attention_block_per_group", cpp_sources=CPP, cuda_sources=CUDA, functions=["paged_attention"])


class ModelNew(nn.Module):
    def forward(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        stream = torch.cuda.current_stream(query.device).cuda_stream
        return extension.paged_attention(query, keys, values, table, lengths, stream)
