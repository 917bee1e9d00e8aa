# author: assay
# expect: cuda incorrect/mutated_input
# expect: cpu not_evaluated/no_device
"""Wrong: computes in place and returns its input, which the caller still needs."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gelu_in_place(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ float gelu(float v) {
    const float inner = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + tanhf(inner));
}

__global__ void gelu_in_place_kernel(float* x, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) x[i] = gelu(x[i]);
}

torch::Tensor gelu_in_place(torch::Tensor x) {
    gelu_in_place_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel());
    return x;
}
"""

extension = load_inline(name="assay_gelu_in_place", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_in_place"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_in_place(x)
