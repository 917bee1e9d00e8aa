# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu incorrect/wrong_values
"""Wrong: divides by the number of elements instead of by the sum of their powers."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <algorithm>
#include <cmath>
#include <limits>

torch::Tensor softmax_counted(torch::Tensor x) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.dim() == 2 && x.is_contiguous(),
                "expected a contiguous float32 matrix on the CPU");
    auto y = torch::empty_like(x);
    const int64_t rows = x.size(0);
    const int64_t dim = x.size(1);
    const float* x_data = x.data_ptr<float>();
    float* y_data = y.data_ptr<float>();
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = x_data + row * dim;
        float* out = y_data + row * dim;
        float top = -std::numeric_limits<float>::infinity();
        for (int64_t i = 0; i < dim; ++i) top = std::max(top, in[i]);
        for (int64_t i = 0; i < dim; ++i) out[i] = std::exp(in[i] - top) / static_cast<float>(dim);
    }
    return y;
}
"""

extension = load_inline(
    name="assay_softmax_counted",
    cpp_sources=CPP,
    functions=["softmax_counted"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_counted(x)
