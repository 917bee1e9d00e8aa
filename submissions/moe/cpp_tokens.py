# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""Mixture of experts in C++ for the CPU: each token goes through its experts, and its sum stays in float32."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <vector>

torch::Tensor moe(torch::Tensor x, torch::Tensor chosen, torch::Tensor gates, torch::Tensor weight) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kBFloat16 && x.is_contiguous(), "expected contiguous bfloat16 on the CPU");
    TORCH_CHECK(chosen.is_contiguous() && gates.is_contiguous() && weight.is_contiguous(), "expected contiguous tensors");
    const int64_t tokens = x.size(0), dim = x.size(1), hidden = weight.size(1), each = chosen.size(1);
    auto y = torch::empty({tokens, hidden}, x.options());
    const auto* in = x.data_ptr<c10::BFloat16>();
    const auto* experts = weight.data_ptr<c10::BFloat16>();
    const auto* shares = gates.data_ptr<c10::BFloat16>();
    const int64_t* numbers = chosen.data_ptr<int64_t>();
    auto* out = y.data_ptr<c10::BFloat16>();
#pragma omp parallel for schedule(static)
    for (int64_t token = 0; token < tokens; ++token) {
        for (int64_t unit = 0; unit < hidden; ++unit) {
            float total = 0.0f;
            for (int64_t place = token * each; place < (token + 1) * each; ++place) {
                const auto* row = experts + (numbers[place] * hidden + unit) * dim;
                float sum = 0.0f;
                for (int64_t k = 0; k < dim; ++k) sum += static_cast<float>(in[token * dim + k]) * static_cast<float>(row[k]);
                total += sum * static_cast<float>(shares[place]);
            }
            out[token * hidden + unit] = total;
        }
    }
    return y;
}
"""

extension = load_inline(
    name="assay_moe_cpp_tokens",
    cpp_sources=CPP,
    functions=["moe"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, experts: int, dim: int, hidden: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(experts, hidden, dim) / dim**0.5)

    def forward(self, x: torch.Tensor, chosen: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
        return extension.moe(x, chosen, gates, self.weight.detach())
