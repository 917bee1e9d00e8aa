# author: assay
# expect: cuda build_failed/link_error
# expect: cpu not_evaluated/no_device
"""Wrong: the launcher is declared and called but defined nowhere, so the extension does not load."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky_relu_launched(torch::Tensor x, double slope);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

void launch_leaky_relu(const float* x, float* y, float slope, int64_t n);

torch::Tensor leaky_relu_launched(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    launch_leaky_relu(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_leaky_relu_launched", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky_relu_launched"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_launched(x, self.negative_slope)
