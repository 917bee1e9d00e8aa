# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu incorrect/wrong_values
"""Wrong: takes one scale for all rows, the first row's."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <algorithm>
#include <cmath>
#include <vector>

static uint8_t encoded(float value) { return c10::Float8_e4m3fn(std::min(std::max(value, -448.0f), 448.0f)).x; }

std::vector<torch::Tensor> rms_norm_fp8(torch::Tensor x, torch::Tensor weight) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kBFloat16 && x.is_contiguous(), "expected contiguous bfloat16 on the CPU");
    const int64_t rows = x.size(0), dim = x.size(1);
    auto codes = torch::empty({rows, dim}, x.options().dtype(torch::kByte));
    auto scales = torch::empty({rows}, x.options().dtype(torch::kFloat));
    const auto *in = x.data_ptr<c10::BFloat16>(), *factors = weight.data_ptr<c10::BFloat16>();
    auto* bytes = codes.data_ptr<uint8_t>();
    float* out = scales.data_ptr<float>();
    float shared = 1.0f;
    for (int64_t row = 0; row < rows; ++row) {
        std::vector<float> normal(dim);
        double squares = 0.0;
        for (int64_t i = 0; i < dim; ++i) {
            normal[i] = in[row * dim + i];
            squares += normal[i] * normal[i];
        }
        const float factor = 1.0 / std::sqrt(squares / dim + 1e-6);
        float largest = 1e-12f;
        for (int64_t i = 0; i < dim; ++i) {
            normal[i] = normal[i] * factor * static_cast<float>(factors[i]);
            largest = std::max(largest, std::fabs(normal[i]));
        }
        if (row == 0) shared = largest / 448.0f;
        const float scale = shared;
        out[row] = scale;
        for (int64_t i = 0; i < dim; ++i) bytes[row * dim + i] = encoded(normal[i] / scale);
    }
    return {codes, scales};
}
"""

extension = load_inline(
    name="assay_rms_norm_fp8_cpp_scale_of_all",
    cpp_sources=CPP,
    functions=["rms_norm_fp8"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.25 * torch.randn(dim))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        codes, scale = extension.rms_norm_fp8(x, self.weight.detach())
        return codes, scale
