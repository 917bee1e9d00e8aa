# author: assay
# expect: cuda incorrect/wrong_dtype
# expect: cpu not_evaluated/no_device
"""Wrong: returns half precision where the reference returns float32."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky_relu_to_half(torch::Tensor x, double slope);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_to_half_kernel(const float* x, __half* y, float slope, int64_t n) {
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = __float2half_rn(x[i] > 0.0f ? x[i] : x[i] * slope);
    }
}

torch::Tensor leaky_relu_to_half(torch::Tensor x, double slope) {
    auto y = torch::empty(x.sizes(), x.options().dtype(torch::kFloat16));
    auto* out = reinterpret_cast<__half*>(y.data_ptr<at::Half>());
    leaky_relu_to_half_kernel<<<4096, 256>>>(x.data_ptr<float>(), out, static_cast<float>(slope), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_leaky_relu_to_half", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky_relu_to_half"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_to_half(x, self.negative_slope)
