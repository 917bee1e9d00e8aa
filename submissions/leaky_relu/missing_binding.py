# author: assay
# expect: cuda build_failed/missing_binding
# expect: cpu build_failed/missing_binding
"""Wrong: builds in __init__ with empty cpp_sources, so the generated binding names a function that it has never seen."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void leak_kernel(const float* in, float* out, float factor, int64_t count) {
    const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at < count) out[at] = in[at] < 0.0f ? factor * in[at] : in[at];
}

torch::Tensor leak_forward(torch::Tensor in, double factor) {
    auto out = torch::empty_like(in);
    leak_kernel<<<(in.numel() + 511) / 512, 512>>>(in.data_ptr<float>(), out.data_ptr<float>(), static_cast<float>(factor), in.numel());
    return out;
}
"""


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope
        self.ops = load_inline(name="assay_leak_forward", cpp_sources="", cuda_sources=CUDA, functions=["leak_forward"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.ops.leak_forward(x, self.negative_slope)
