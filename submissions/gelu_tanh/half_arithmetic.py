# author: assay
# expect: cuda incorrect/precision_loss
# expect: cpu not_evaluated/no_device
"""Wrong: rounds every element to half precision on its way in and out; good to three digits, returned as float32."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gelu_via_half(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void gelu_via_half_kernel(const float* x, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = __half2float(__float2half_rn(x[i]));
    const float inner = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    y[i] = __half2float(__float2half_rn(0.5f * v * (1.0f + tanhf(inner))));
}

torch::Tensor gelu_via_half(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu_via_half_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_gelu_via_half", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_via_half"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_via_half(x)
