# author: assay
# expect: cuda run_failed/import_error
# expect: cpu not_evaluated/no_device
"""Wrong: imports a package that was never published."""

import torch
import warp_tuning_presets
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gelu_tuned(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ float gelu(float v) {
    const float inner = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + tanhf(inner));
}

__global__ void gelu_tuned_kernel(const float* x, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = gelu(x[i]);
}

torch::Tensor gelu_tuned(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu_tuned_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_gelu_tuned", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_tuned"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return warp_tuning_presets.pad(extension.gelu_tuned(x))
