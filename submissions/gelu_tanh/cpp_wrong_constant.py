# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu incorrect/wrong_values
"""Wrong: the square root of pi stands where the square root of 2/pi belongs."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <cmath>

static float gelu(float v) {
    const float inner = 1.7724538509055159f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + std::tanh(inner));
}

torch::Tensor gelu_root_pi(torch::Tensor x) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(),
                "expected a contiguous float32 tensor on the CPU");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t n = x.numel();
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) out[i] = gelu(in[i]);
    return y;
}
"""

extension = load_inline(
    name="assay_gelu_root_pi",
    cpp_sources=CPP,
    functions=["gelu_root_pi"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_root_pi(x)
