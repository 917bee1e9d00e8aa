# problem: leaky_relu
# tool: initcheck
# finds: Uninitialized __global__ memory read of size 4 bytes
# kernel: added
"""Leaky ReLU that is added to memory which nothing has written."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky(torch::Tensor x, double slope);"

CUDA = r"""
#include <torch/extension.h>
__global__ void added(const float* x, float* y, float slope, int64_t n) {
    const int64_t i = blockIdx.x * 256L + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    y[i] += v > 0.0f ? v : slope * v;  // HERE
}
torch::Tensor leaky(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    added<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), n);
    return y;
}
"""

extension = load_inline(name="adds_to_nothing", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky(x, self.negative_slope)
