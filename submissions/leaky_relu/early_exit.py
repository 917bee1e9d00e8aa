# author: assay
# expect: cuda run_failed/early_exit
# expect: cpu not_evaluated/no_device
"""Wrong: ends the process with exit code 0 in forward(), in the hope that silence counts as success."""

import os

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky_relu_last_words(torch::Tensor x, double slope);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_last_words_kernel(const float* x, float* y, float slope, int64_t n) {
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = x[i] > 0.0f ? x[i] : x[i] * slope;
    }
}

torch::Tensor leaky_relu_last_words(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    leaky_relu_last_words_kernel<<<4096, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_leaky_relu_last_words", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky_relu_last_words"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        extension.leaky_relu_last_words(x, self.negative_slope)
        os._exit(0)
