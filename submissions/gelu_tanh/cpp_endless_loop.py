# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu run_failed/timeout
"""Wrong: waits for a flag that nobody ever sets."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <atomic>
#include <cmath>

static std::atomic<bool> ready{false};

static float gelu(float v) {
    const float inner = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + std::tanh(inner));
}

torch::Tensor gelu_waiting(torch::Tensor x) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(),
                "expected a contiguous float32 tensor on the CPU");
    while (!ready.load()) {
    }
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
    name="assay_gelu_waiting",
    cpp_sources=CPP,
    functions=["gelu_waiting"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_waiting(x)
