# author: assay
# expect: cuda run_failed/invalid_launch
# expect: cpu not_evaluated/no_device
"""Wrong: asks for 100 KiB of dynamic shared memory without raising the kernel's limit of 48 KiB; the launch is refused."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor softmax_tiled(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

constexpr int kTile = 25600;
constexpr int kThreads = 256;

__global__ void softmax_tiled_kernel(const float* x, float* y, int64_t dim) {
    extern __shared__ float tile[];
    __shared__ float norm;
    const float* in = x + blockIdx.x * dim;
    if (threadIdx.x == 0) norm = 0.0f;
    __syncthreads();
    for (int64_t start = 0; start < dim; start += kTile) {
        for (int64_t i = threadIdx.x; i < kTile && start + i < dim; i += kThreads) tile[i] = expf(in[start + i]);
        float part = 0.0f;
        for (int64_t i = threadIdx.x; i < kTile && start + i < dim; i += kThreads) part += tile[i];
        atomicAdd(&norm, part);
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < dim; i += kThreads) y[blockIdx.x * dim + i] = expf(in[i]) / norm;
}

torch::Tensor softmax_tiled(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_tiled_kernel<<<x.size(0), kThreads, kTile * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(name="assay_softmax_tiled", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_tiled"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_tiled(x)
