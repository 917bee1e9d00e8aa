# author: assay
# expect: cuda run_failed/wrong_device
# expect: cpu not_evaluated/no_device
"""Wrong: hands the right answer back in host memory."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gelu_sent_home(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ float gelu(float v) {
    const float inner = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + tanhf(inner));
}

__global__ void gelu_sent_home_kernel(const float* x, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = gelu(x[i]);
}

torch::Tensor gelu_sent_home(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu_sent_home_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_gelu_sent_home", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_sent_home"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_sent_home(x).cpu()
