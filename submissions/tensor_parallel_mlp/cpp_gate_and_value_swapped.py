# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu incorrect/wrong_values
"""Wrong: puts the value through SiLU instead of the gate."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <cmath>
#include <vector>

std::vector<torch::Tensor> tensor_parallel_mlp(std::vector<torch::Tensor> tokens, torch::Tensor gate, torch::Tensor up, torch::Tensor down) {
    const int64_t dim = gate.size(1), hidden = gate.size(0);
    const auto *gates = gate.data_ptr<c10::BFloat16>(), *ups = up.data_ptr<c10::BFloat16>(), *downs = down.data_ptr<c10::BFloat16>();
    std::vector<torch::Tensor> answers;
    for (const torch::Tensor& x : tokens) {
        TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kBFloat16 && x.is_contiguous(), "expected contiguous bfloat16 on the CPU");
        answers.push_back(torch::empty_like(x));
        const auto* in = x.data_ptr<c10::BFloat16>();
        auto* out = answers.back().data_ptr<c10::BFloat16>();
#pragma omp parallel for schedule(static)
        for (int64_t row = 0; row < x.size(0); ++row) {
            std::vector<float> units(hidden);
            for (int64_t unit = 0; unit < hidden; ++unit) {
                float open = 0.0f, value = 0.0f;
                for (int64_t k = 0; k < dim; ++k) {
                    const float number = in[row * dim + k];
                    open += number * static_cast<float>(gates[unit * dim + k]);
                    value += number * static_cast<float>(ups[unit * dim + k]);
                }
                units[unit] = static_cast<float>(c10::BFloat16(value / (1.0f + std::exp(-value)) * open));
            }
            for (int64_t i = 0; i < dim; ++i) {
                float sum = 0.0f;
                for (int64_t unit = 0; unit < hidden; ++unit) sum += units[unit] * static_cast<float>(downs[i * hidden + unit]);
                out[row * dim + i] = sum;
            }
        }
    }
    return answers;
}
"""

extension = load_inline(
    name="assay_tensor_parallel_mlp_cpp_gate_and_value_swapped",
    cpp_sources=CPP,
    functions=["tensor_parallel_mlp"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, tokens: list[torch.Tensor]) -> list[torch.Tensor]:
        weights = (layer.weight.detach() for layer in (self.gate, self.up, self.down))
        return extension.tensor_parallel_mlp(tokens, *weights)
