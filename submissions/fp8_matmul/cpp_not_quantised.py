# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu incorrect/wrong_values
"""Wrong: leaves the activations as they are. A more exact answer than the reference's, and not the product in FP8 that was asked for."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <algorithm>
#include <cmath>
#include <vector>

// A group's codes, as floats, and their scale: the power of two that brings the largest of them up to 224 to 448.
static float quantise(const c10::Half* x, int64_t count, float* codes) {
    float largest = 1e-20f;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(static_cast<float>(x[i])));
    int exponent;
    if (std::frexp(largest / 448.0f, &exponent) == 0.5f) --exponent;
    const float scale = std::ldexp(1.0f, exponent);
    for (int64_t i = 0; i < count; ++i) codes[i] = static_cast<float>(x[i]) / scale;
    return scale;
}

torch::Tensor fp8_matmul(torch::Tensor x, torch::Tensor weight, torch::Tensor scale, int64_t block) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kHalf && x.is_contiguous(), "expected contiguous float16 on the CPU");
    TORCH_CHECK(weight.scalar_type() == torch::kFloat8_e4m3fn && weight.is_contiguous(), "expected contiguous weights in float8_e4m3fn");
    const auto scales = scale.contiguous();
    const int64_t rows = x.size(0), inner = x.size(1), columns = weight.size(0), blocks = inner / block;
    TORCH_CHECK(inner % block == 0, "a row has to be whole blocks");
    auto y = torch::empty({rows, columns}, x.options());
    const auto* in = x.data_ptr<c10::Half>();
    const auto* weights = weight.data_ptr<c10::Float8_e4m3fn>();
    const float* factors = scales.data_ptr<float>();
    auto* out = y.data_ptr<c10::Half>();
    std::vector<float> decoded(columns * inner);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < columns * inner; ++i) decoded[i] = static_cast<float>(weights[i]);
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        std::vector<float> codes(inner), own(blocks);
        for (int64_t b = 0; b < blocks; ++b) own[b] = quantise(in + row * inner + b * block, block, codes.data() + b * block);
        for (int64_t column = 0; column < columns; ++column) {
            const float* with = decoded.data() + column * inner;
            float total = 0.0f;
            for (int64_t b = 0; b < blocks; ++b) {
                float sum = 0.0f;
                for (int64_t k = b * block; k < (b + 1) * block; ++k) sum += codes[k] * with[k];
                total += sum * own[b] * factors[column / block * blocks + b];
            }
            out[row * columns + column] = total;
        }
    }
    return y;
}
"""

extension = load_inline(
    name="assay_fp8_matmul_cpp_not_quantised",
    cpp_sources=CPP,
    functions=["fp8_matmul"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, block: int):
        super().__init__()
        self.block = block

    def forward(self, x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return extension.fp8_matmul(x, weight, scale, self.block)
