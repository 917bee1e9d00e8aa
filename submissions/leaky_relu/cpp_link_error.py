# author: assay
# device: cpu
# expect: cuda build_failed/link_error
# expect: cpu build_failed/link_error
"""Wrong: calls a function that is declared but defined nowhere; found when the extension is loaded."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>

float leak(float value, float slope);

torch::Tensor leaky_relu_unlinked(torch::Tensor x, double slope) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(),
                "expected a contiguous float32 tensor on the CPU");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) out[i] = leak(in[i], static_cast<float>(slope));
    return y;
}
"""

extension = load_inline(
    name="assay_leaky_relu_unlinked",
    cpp_sources=CPP,
    functions=["leaky_relu_unlinked"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_unlinked(x, self.negative_slope)
