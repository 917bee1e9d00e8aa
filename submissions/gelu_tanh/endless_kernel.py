# author: assay
# expect: cuda run_failed/timeout
# expect: cpu not_evaluated/no_device
"""Wrong: its grid-wide barrier waits for one block more than there are, for ever."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gelu_behind_barrier(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ float gelu(float v) {
    const float inner = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + tanhf(inner));
}

__global__ void gelu_behind_barrier_kernel(const float* x, float* y, int64_t n, unsigned* arrived) {
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (atomicAdd(arrived, 0u) < gridDim.x + 1) {
        }
    }
    __syncthreads();
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = gelu(x[i]);
}

torch::Tensor gelu_behind_barrier(torch::Tensor x) {
    auto y = torch::empty_like(x);
    auto arrived = torch::zeros({1}, x.options().dtype(torch::kInt32));
    auto* counter = reinterpret_cast<unsigned*>(arrived.data_ptr<int>());
    gelu_behind_barrier_kernel<<<128, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), counter);
    return y;
}
"""

extension = load_inline(name="assay_gelu_behind_barrier", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_behind_barrier"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_behind_barrier(x)
