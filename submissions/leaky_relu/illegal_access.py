# author: assay
# expect: cuda run_failed/illegal_memory_access
# expect: cpu not_evaluated/no_device
"""Wrong: writes as if the output were stored by columns, each 2^20 elements long, and so gigabytes behind its end."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky_relu_by_columns(torch::Tensor x, double slope);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_by_columns_kernel(const float* x, float* y, float slope, int64_t rows, int64_t columns) {
    constexpr int64_t kPitch = 1 << 20;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= rows * columns) return;
    const int64_t row = i / columns;
    const int64_t column = i % columns;
    y[column * kPitch + row] = x[i] > 0.0f ? x[i] : x[i] * slope;
}

torch::Tensor leaky_relu_by_columns(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    const int64_t blocks = (x.numel() + 255) / 256;
    leaky_relu_by_columns_kernel<<<blocks, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), x.size(0), x.size(1));
    return y;
}
"""

extension = load_inline(name="assay_leaky_relu_by_columns", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky_relu_by_columns"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_by_columns(x, self.negative_slope)
