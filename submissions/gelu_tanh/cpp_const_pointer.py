# author: assay
# device: cpu
# expect: cuda build_failed/const_pointer
# expect: cpu build_failed/const_pointer
"""Wrong: passes a pointer to const where the helper takes one to non-const."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <cmath>

static void gelu_row(float* in, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const float inner = 0.7978845608028654f * (in[i] + 0.044715f * in[i] * in[i] * in[i]);
        out[i] = 0.5f * in[i] * (1.0f + std::tanh(inner));
    }
}

torch::Tensor gelu_by_helper(torch::Tensor x) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(),
                "expected a contiguous float32 tensor on the CPU");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    gelu_row(in, y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(
    name="assay_gelu_by_helper",
    cpp_sources=CPP,
    functions=["gelu_by_helper"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_by_helper(x)
