# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""Linear recurrence in C++ for the CPU: one call for all steps, each a vectorized loop over the channels."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>

__attribute__((target("avx2,fma"))) static void step(const float* gate, const float* value, const float* before, float* after, int64_t n) {
    for (int64_t i = 0; i < n; ++i) after[i] = gate[i] * before[i] + value[i];
}

torch::Tensor linear_recurrence(torch::Tensor gate, torch::Tensor value) {
    for (const torch::Tensor& t : {gate, value}) {
        TORCH_CHECK(t.device().is_cpu() && t.scalar_type() == torch::kFloat32 && t.dim() == 3 && t.is_contiguous(),
                    "expected contiguous float32 tensors on the CPU");
    }
    auto states = torch::empty_like(value);
    const float* gates = gate.data_ptr<float>();
    const float* values = value.data_ptr<float>();
    float* out = states.data_ptr<float>();
    const int64_t length = value.size(1);
    const int64_t channels = value.size(2);
#pragma omp parallel for schedule(static) if (value.numel() >= 1 << 17)
    for (int64_t batch = 0; batch < value.size(0); ++batch) {
        const int64_t first = batch * length * channels;
        std::copy(values + first, values + first + channels, out + first);  // the state before it is zero
        for (int64_t at = first + channels; at < first + length * channels; at += channels) {
            step(gates + at, values + at, out + at - channels, out + at, channels);
        }
    }
    return states;
}
"""

extension = load_inline(
    name="assay_linear_recurrence_one_pass",
    cpp_sources=CPP,
    functions=["linear_recurrence"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return extension.linear_recurrence(gate, value)
