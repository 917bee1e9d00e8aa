# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu incorrect/wrong_values | incorrect/unwritten_output | incorrect/nan_or_inf
"""Wrong: the loop stops one element early, and the last one keeps what torch::empty found there."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>

torch::Tensor leaky_relu_short(torch::Tensor x, double slope) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(),
                "expected a contiguous float32 tensor on the CPU");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const float factor = static_cast<float>(slope);
#pragma omp parallel for
    for (int64_t i = 0; i < x.numel() - 1; ++i) out[i] = in[i] > 0.0f ? in[i] : in[i] * factor;
    return y;
}
"""

extension = load_inline(
    name="assay_leaky_relu_short",
    cpp_sources=CPP,
    functions=["leaky_relu_short"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_short(x, self.negative_slope)
