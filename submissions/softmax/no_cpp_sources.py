# author: assay
# expect: cuda build_failed/load_inline_misuse
# expect: cpu build_failed/load_inline_misuse
"""Wrong: load_inline is called without `cpp_sources`, which has no default."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void exponentials(const float* x, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = expf(x[i]);
}

torch::Tensor exponentials_of(torch::Tensor x) {
    auto y = torch::empty_like(x);
    exponentials<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(name="assay_exponentials", cuda_sources=CUDA, functions=["exponentials_of"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = extension.exponentials_of(x)
        return weights / weights.sum(dim=1, keepdim=True)
