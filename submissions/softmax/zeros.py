# author: assay
# expect: cuda incorrect/wrong_values
# expect: cpu not_evaluated/no_device
"""Wrong: writes zeros. The largest true value is 4e-6, so an absolute tolerance of 1e-4 would let this pass."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor nothing(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void clear(float* y, int64_t n) {
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = 0.0f;
}

torch::Tensor nothing(torch::Tensor x) {
    auto y = torch::empty_like(x);
    clear<<<2048, 512>>>(y.data_ptr<float>(), y.numel());
    return y;
}
"""

extension = load_inline(name="assay_nothing", cpp_sources=CPP, cuda_sources=CUDA, functions=["nothing"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.nothing(x)
