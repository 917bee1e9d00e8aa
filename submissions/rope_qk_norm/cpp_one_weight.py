# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu incorrect/wrong_values
"""Wrong: normalizes the keys by the queries' weight."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <cmath>
#include <vector>

static torch::Tensor turned(torch::Tensor x, torch::Tensor weight, torch::Tensor positions, double base) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kBFloat16 && x.is_contiguous(), "expected contiguous bfloat16 on the CPU");
    const int64_t heads = x.size(1), width = x.size(2), half = width / 2;
    auto y = torch::empty_like(x);
    const auto *in = x.data_ptr<c10::BFloat16>(), *factors = weight.data_ptr<c10::BFloat16>();
    const int64_t* places = positions.data_ptr<int64_t>();
    auto* out = y.data_ptr<c10::BFloat16>();
#pragma omp parallel for schedule(static)
    for (int64_t token = 0; token < x.size(0); ++token) {
        for (int64_t head = 0; head < heads; ++head) {
            const int64_t start = (token * heads + head) * width;
            float squares = 0.0f;
            for (int64_t i = 0; i < width; ++i) squares += static_cast<float>(in[start + i]) * static_cast<float>(in[start + i]);
            const float scale = 1.0f / std::sqrt(squares / width + 1e-6f);
            auto normal = [&](int64_t i) { return static_cast<float>(in[start + i]) * scale * static_cast<float>(factors[i]); };
            for (int64_t i = 0; i < half; ++i) {
                const double angle = places[token] * std::pow(base, -2.0 * i / width);
                const float cosine = std::cos(angle), sine = std::sin(angle);
                const int64_t one = i, other = i + half;
                out[start + one] = normal(one) * cosine - normal(other) * sine;
                out[start + other] = normal(other) * cosine + normal(one) * sine;
            }
        }
    }
    return y;
}

std::vector<torch::Tensor> rope_qk_norm(torch::Tensor query, torch::Tensor key, torch::Tensor positions, torch::Tensor query_weight,
                                        torch::Tensor key_weight, double base) {
    return {turned(query, query_weight, positions, base), turned(key, query_weight, positions, base)};
}
"""

extension = load_inline(
    name="assay_rope_qk_norm_cpp_one_weight",
    cpp_sources=CPP,
    functions=["rope_qk_norm"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, width: int, base: float):
        super().__init__()
        self.query_norm = nn.Parameter(1.0 + 0.25 * torch.randn(width))
        self.key_norm = nn.Parameter(1.0 + 0.25 * torch.randn(width))
        self.base = base

    def forward(self, query: torch.Tensor, key: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights = self.query_norm.detach(), self.key_norm.detach()
        found, other = extension.rope_qk_norm(query, key, positions, *weights, self.base)
        return found, other
