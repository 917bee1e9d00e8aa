# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""QK norm and rotary embedding in one pass: a block finds a token's angles once, and its warps turn the heads."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
std::vector<torch::Tensor> rope_qk_norm(torch::Tensor query, torch::Tensor key, torch::Tensor positions, torch::Tensor query_weight,
                                        torch::Tensor key_weight, double base, int64_t stream);
"""

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cstdint>
#include <vector>

void check(const char* what) {
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, what, ": ", cudaGetErrorString(error));
}

constexpr int kMostWidth = 256;

// A block for each token: its cosines and sines are found once, from angles in float64, and a warp normalizes and turns a head at a time.
__global__ void turn(const __nv_bfloat16* query, const __nv_bfloat16* key, const int64_t* positions, const __nv_bfloat16* query_weight,
                     const __nv_bfloat16* key_weight, __nv_bfloat16* queries, __nv_bfloat16* keys, int heads, int groups, int width,
                     double base) {
    __shared__ float cosines[kMostWidth / 2], sines[kMostWidth / 2];
    const int64_t token = blockIdx.x;
    const int half = width / 2;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        double sine, cosine;
        sincos(positions[token] * pow(base, -2.0 * i / width), &sine, &cosine);
        cosines[i] = static_cast<float>(cosine);
        sines[i] = static_cast<float>(sine);
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    for (int head = threadIdx.x / 32; head < heads + groups; head += blockDim.x / 32) {
        const bool is_query = head < heads;
        const int64_t start = is_query ? (token * heads + head) * width : (token * groups + head - heads) * width;
        const __nv_bfloat16* in = (is_query ? query : key) + start;
        const __nv_bfloat16* factors = is_query ? query_weight : key_weight;
        __nv_bfloat16* out = (is_query ? queries : keys) + start;
        float squares = 0.0f;
        for (int i = lane; i < width; i += 32) squares += __bfloat162float(in[i]) * __bfloat162float(in[i]);
        for (int offset = 16; offset; offset /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, offset);
        const float scale = rsqrtf(squares / width + 1e-6f);
        for (int i = lane; i < half; i += 32) {
            const float one = __bfloat162float(in[i]) * scale * __bfloat162float(factors[i]);
            const float other = __bfloat162float(in[i + half]) * scale * __bfloat162float(factors[i + half]);
            out[i] = __float2bfloat16_rn(one * cosines[i] - other * sines[i]);
            out[i + half] = __float2bfloat16_rn(other * cosines[i] + one * sines[i]);
        }
    }
}

const __nv_bfloat16* of(const torch::Tensor& t) { return reinterpret_cast<const __nv_bfloat16*>(t.data_ptr()); }

std::vector<torch::Tensor> rope_qk_norm(torch::Tensor query, torch::Tensor key, torch::Tensor positions, torch::Tensor query_weight,
                                        torch::Tensor key_weight, double base, int64_t stream_handle) {
    for (const torch::Tensor& t : {query, key, query_weight, key_weight}) {
        TORCH_CHECK(t.is_cuda() && t.scalar_type() == torch::kBFloat16 && t.is_contiguous(), "expected contiguous bfloat16 on a GPU");
    }
    const int64_t width = query.size(2);
    TORCH_CHECK(width <= kMostWidth && width % 2 == 0, "heads of at most 256 numbers are needed");
    auto queries = torch::empty_like(query), keys = torch::empty_like(key);
    turn<<<static_cast<unsigned>(query.size(0)), 256, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        of(query), of(key), positions.data_ptr<int64_t>(), of(query_weight), of(key_weight), reinterpret_cast<__nv_bfloat16*>(queries.data_ptr()),
        reinterpret_cast<__nv_bfloat16*>(keys.data_ptr()), static_cast<int>(query.size(1)), static_cast<int>(key.size(1)),
        static_cast<int>(width), base);
    check("turn");
    return {queries, keys};
}
"""

extension = load_inline(name="assay_rope_qk_norm_block_per_token", cpp_sources=CPP, cuda_sources=CUDA, functions=["rope_qk_norm"])


class ModelNew(nn.Module):
    def __init__(self, width: int, base: float):
        super().__init__()
        self.query_norm = nn.Parameter(1.0 + 0.25 * torch.randn(width))
        self.key_norm = nn.Parameter(1.0 + 0.25 * torch.randn(width))
        self.base = base

    def forward(self, query: torch.Tensor, key: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        stream = torch.cuda.current_stream(query.device).cuda_stream
        weights = self.query_norm.detach(), self.key_norm.detach()
        found, other = extension.rope_qk_norm(query, key, positions, *weights, self.base, stream)
        return found, other
