# author: assay
# expect: cuda run_failed/process_crash
# expect: cpu not_evaluated/no_device
"""Wrong: stores the slope through a host pointer that is null."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky_relu_parameters(torch::Tensor x, double slope);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_parameters_kernel(const float* x, float* y, const float* parameters, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f ? x[i] : x[i] * parameters[0];
}

torch::Tensor leaky_relu_parameters(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    volatile float* parameters = nullptr;
    parameters[0] = static_cast<float>(slope);
    const int64_t blocks = (x.numel() + 255) / 256;
    leaky_relu_parameters_kernel<<<blocks, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), const_cast<const float*>(parameters), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_leaky_relu_parameters", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky_relu_parameters"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_parameters(x, self.negative_slope)
