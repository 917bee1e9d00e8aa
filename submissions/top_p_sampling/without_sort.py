# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Top-p sampling without a sort: a block finds the least probability that is kept bit by bit, and then the largest quotient."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor top_p_sampling(torch::Tensor logits, torch::Tensor noise, double share, int64_t stream);
"""

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cstdint>

void check(const char* what) {
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, what, ": ", cudaGetErrorString(error));
}

struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Every thread's value made one, for all threads.
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

// A block for each row, without a sort: the least power that is kept is found bit by bit, since positive floats are ordered as their bits
// are. A power is kept if those that are larger have less than the share together, which holds for all from some number on.
__global__ void sample(const float* logits, const float* noise, int64_t* tokens, int columns, float share) {
    const float* x = logits + static_cast<int64_t>(blockIdx.x) * columns;
    const float* chances = noise + static_cast<int64_t>(blockIdx.x) * columns;
    float largest = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, x[i]);
    largest = across_block(largest, -INFINITY, Larger());
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(x[i] - largest);
    const float enough = share * across_block(sum, 0.0f, Add());
    uint32_t least = 0, end = __float_as_uint(1.0f);  // the answer is one of these and those between
    while (least < end) {
        const uint32_t middle = least + (end - least) / 2;
        const float limit = __uint_as_float(middle);
        float before = 0.0f;
        for (int i = threadIdx.x; i < columns; i += blockDim.x) {
            const float power = expf(x[i] - largest);
            if (power > limit) before += power;
        }
        if (across_block(before, 0.0f, Add()) < enough) {
            end = middle;
        } else {
            least = middle + 1;
        }
    }
    const float limit = __uint_as_float(least);
    float best = -1.0f;
    int token = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float power = expf(x[i] - largest), value = power < limit ? 0.0f : power / chances[i];
        if (value > best) best = value, token = i;
    }
    const float most = across_block(best, -1.0f, Larger());
    __shared__ int first;
    if (threadIdx.x == 0) first = columns;
    __syncthreads();
    if (best == most) atomicMin(&first, token);
    __syncthreads();
    if (threadIdx.x == 0) tokens[blockIdx.x] = first;
}

torch::Tensor top_p_sampling(torch::Tensor logits, torch::Tensor noise, double share, int64_t stream_handle) {
    for (const torch::Tensor& t : {logits, noise}) {
        TORCH_CHECK(t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.dim() == 2 && t.is_contiguous(),
                    "expected contiguous float32 tensors on a GPU");
    }
    auto tokens = torch::empty({logits.size(0)}, logits.options().dtype(torch::kLong));
    sample<<<static_cast<unsigned>(logits.size(0)), 1024, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        logits.data_ptr<float>(), noise.data_ptr<float>(), tokens.data_ptr<int64_t>(), static_cast<int>(logits.size(1)),
        static_cast<float>(share));
    check("sample");
    return tokens;
}
"""

extension = load_inline(name="assay_top_p_sampling_without_sort", cpp_sources=CPP, cuda_sources=CUDA, functions=["top_p_sampling"])


class ModelNew(nn.Module):
    def __init__(self, share: float):
        super().__init__()
        self.share = share

    def forward(self, logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        return extension.top_p_sampling(logits, noise, self.share, torch.cuda.current_stream(logits.device).cuda_stream)
