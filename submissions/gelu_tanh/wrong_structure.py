# author: assay
# expect: cuda incorrect/wrong_structure
# expect: cpu not_evaluated/no_device
"""Wrong: returns a pair, the answer and its input, where the reference returns one tensor."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gelu_and_input(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ float gelu(float v) {
    const float inner = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + tanhf(inner));
}

__global__ void gelu_and_input_kernel(const float* x, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = gelu(x[i]);
}

torch::Tensor gelu_and_input(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu_and_input_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_gelu_and_input", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_and_input"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return extension.gelu_and_input(x), x
