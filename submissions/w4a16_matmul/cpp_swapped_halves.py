# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu incorrect/wrong_values
"""Wrong: takes the upper half of a byte for the first of its two numbers."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <vector>

torch::Tensor w4a16_matmul(torch::Tensor x, torch::Tensor packed, torch::Tensor scale, int64_t group) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kHalf && x.is_contiguous(), "expected contiguous float16 on the CPU");
    TORCH_CHECK(packed.scalar_type() == torch::kByte && packed.is_contiguous() && scale.is_contiguous(), "expected contiguous weights");
    const int64_t rows = x.size(0), inner = x.size(1), columns = packed.size(0), groups = inner / group;
    auto y = torch::empty({rows, columns}, x.options());
    const auto* in = x.data_ptr<c10::Half>();
    const auto* bytes = packed.data_ptr<uint8_t>();
    const auto* scales = scale.data_ptr<c10::Half>();
    auto* out = y.data_ptr<c10::Half>();
    std::vector<float> activations(rows * inner);
    for (int64_t i = 0; i < rows * inner; ++i) activations[i] = in[i];
#pragma omp parallel for schedule(static)
    for (int64_t column = 0; column < columns; ++column) {
        std::vector<float> weight(inner);
        for (int64_t k = 0; k < inner; ++k) {
            const uint8_t byte = bytes[(column * inner + k) / 2];
            const int code = k % 2 ? byte & 15 : byte >> 4;
            weight[k] = (code - 8) * static_cast<float>(scales[column * groups + k / group]);
        }
        for (int64_t row = 0; row < rows; ++row) {
            float sum = 0.0f;
            for (int64_t k = 0; k < inner; ++k) sum += activations[row * inner + k] * weight[k];
            out[row * columns + column] = sum;
        }
    }
    return y;
}
"""

extension = load_inline(
    name="assay_w4a16_matmul_cpp_swapped_halves",
    cpp_sources=CPP,
    functions=["w4a16_matmul"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, group: int):
        super().__init__()
        self.group = group

    def forward(self, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return extension.w4a16_matmul(x, packed, scale, self.group)
