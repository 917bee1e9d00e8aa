# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Leaky ReLU with one thread for each element, on the default stream, as most generated kernels have it."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky_relu_scalar(torch::Tensor x, double slope);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_scalar_kernel(const float* x, float* y, float slope, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    y[i] = fmaxf(v, 0.0f) + slope * fminf(v, 0.0f);
}

torch::Tensor leaky_relu_scalar(torch::Tensor x, double slope) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(), "expected a contiguous float32 tensor on a GPU");
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    if (n == 0) return y;
    const int64_t blocks = (n + 255) / 256;
    leaky_relu_scalar_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), n);
    return y;
}
"""

extension = load_inline(name="assay_leaky_relu_scalar", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky_relu_scalar"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_scalar(x, self.negative_slope)
