# author: assay
# expect: cuda run_failed/misaligned_address
# expect: cpu not_evaluated/no_device
"""Wrong: handles the first element alone and reads float4 from x + 1, which is never aligned to 16 bytes."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky_relu_peeled(torch::Tensor x, double slope);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_peeled_kernel(const float* x, float* y, float slope, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i == 0) y[0] = x[0] > 0.0f ? x[0] : x[0] * slope;
    if (4 * i + 4 >= n) return;
    float4 v = reinterpret_cast<const float4*>(x + 1)[i];
    v.x = v.x > 0.0f ? v.x : v.x * slope;
    v.y = v.y > 0.0f ? v.y : v.y * slope;
    v.z = v.z > 0.0f ? v.z : v.z * slope;
    v.w = v.w > 0.0f ? v.w : v.w * slope;
    reinterpret_cast<float4*>(y + 1)[i] = v;
}

torch::Tensor leaky_relu_peeled(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    const int64_t blocks = (x.numel() / 4 + 255) / 256;
    leaky_relu_peeled_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_leaky_relu_peeled", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky_relu_peeled"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_peeled(x, self.negative_slope)
