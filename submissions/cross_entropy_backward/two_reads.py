# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Gradient of cross entropy: a block for each row reads it for its sum of powers, and again, from the cache, for the gradient."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor cross_entropy_backward(torch::Tensor logits, torch::Tensor targets, torch::Tensor gradient, int64_t stream);
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

// N floats that are read and written at once.
template <int N>
struct alignas(4 * N) Pack {
    float v[N];
};

// A block for each row: the largest logit and the sum of powers come from one read, the gradient from another, which the cache has kept.
template <int N>
__global__ void gradient_row(const float* __restrict__ logits, const int64_t* __restrict__ targets, const float* __restrict__ gradient,
                             float* __restrict__ y, int classes) {
    const int64_t start = static_cast<int64_t>(blockIdx.x) * classes;
    const auto* in = reinterpret_cast<const Pack<N>*>(logits + start);
    auto* out = reinterpret_cast<Pack<N>*>(y + start);
    float largest = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < classes / N; i += blockDim.x) {
        const Pack<N> x = in[i];
        float now = largest;
#pragma unroll
        for (int j = 0; j < N; ++j) now = fmaxf(now, x.v[j]);
        if (now > largest) sum *= expf(largest - now), largest = now;
#pragma unroll
        for (int j = 0; j < N; ++j) sum += expf(x.v[j] - largest);
    }
    const float top = across_block(largest, -INFINITY, Larger());
    const float total = across_block(sum == 0.0f ? 0.0f : sum * expf(largest - top), 0.0f, Add());
    const float factor = gradient[blockIdx.x], share = 1.0f / total;
    const int target = static_cast<int>(targets[blockIdx.x]);
    for (int i = threadIdx.x; i < classes / N; i += blockDim.x) {
        Pack<N> x = in[i];
#pragma unroll
        for (int j = 0; j < N; ++j) x.v[j] = (expf(x.v[j] - top) * share - (i * N + j == target ? 1.0f : 0.0f)) * factor;
        out[i] = x;
    }
}

torch::Tensor cross_entropy_backward(torch::Tensor logits, torch::Tensor targets, torch::Tensor gradient, int64_t stream_handle) {
    TORCH_CHECK(logits.is_cuda() && logits.scalar_type() == torch::kFloat32 && logits.dim() == 2 && logits.is_contiguous(),
                "expected contiguous float32 logits on a GPU");
    TORCH_CHECK(targets.is_contiguous() && gradient.is_contiguous(), "expected contiguous tensors");
    const int64_t classes = logits.size(1);
    auto y = torch::empty_like(logits);
    const bool wide = classes % 4 == 0 && reinterpret_cast<uintptr_t>(logits.data_ptr()) % 16 == 0;
    const auto kernel = wide ? gradient_row<4> : gradient_row<1>;
    kernel<<<static_cast<unsigned>(logits.size(0)), 512, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        logits.data_ptr<float>(), targets.data_ptr<int64_t>(), gradient.data_ptr<float>(), y.data_ptr<float>(), static_cast<int>(classes));
    check("gradient_row");
    return y;
}
"""

extension = load_inline(name="assay_cross_entropy_backward_two_reads", cpp_sources=CPP, cuda_sources=CUDA, functions=["cross_entropy_backward"])


class ModelNew(nn.Module):
    def forward(self, logits: torch.Tensor, targets: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return extension.cross_entropy_backward(logits, targets, gradient, torch.cuda.current_stream(logits.device).cuda_stream)
