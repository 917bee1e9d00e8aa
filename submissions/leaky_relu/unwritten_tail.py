# author: assay
# expect: cuda incorrect/wrong_values | incorrect/unwritten_output | incorrect/nan_or_inf
# expect: cpu not_evaluated/no_device
"""Wrong: the grid is rounded down, so up to 999 elements at the end keep what torch::empty found there."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky_relu_whole_blocks(torch::Tensor x, double slope);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_whole_blocks_kernel(const float* x, float* y, float slope) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    y[i] = x[i] > 0.0f ? x[i] : x[i] * slope;
}

torch::Tensor leaky_relu_whole_blocks(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    const int64_t blocks = x.numel() / 1000;
    leaky_relu_whole_blocks_kernel<<<blocks, 1000>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope));
    return y;
}
"""

extension = load_inline(name="assay_leaky_relu_whole_blocks", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky_relu_whole_blocks"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_whole_blocks(x, self.negative_slope)
