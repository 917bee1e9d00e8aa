# author: assay
# expect: cuda incorrect/wrong_values
# expect: cpu not_evaluated/no_device
"""Wrong: the cubic term's factor is 0.44715 instead of 0.044715."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gelu_mistyped(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void gelu_mistyped_kernel(const float* x, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.44715f * v * v * v)));
}

torch::Tensor gelu_mistyped(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu_mistyped_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_gelu_mistyped", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_mistyped"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_mistyped(x)
