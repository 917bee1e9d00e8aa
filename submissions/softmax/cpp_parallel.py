# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""Softmax in C++ for the CPU: rows in parallel, the sum kept in double so that long rows lose nothing."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <algorithm>
#include <cmath>
#include <limits>

torch::Tensor softmax_parallel(torch::Tensor x) {
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
        double sum = 0.0;
        for (int64_t i = 0; i < dim; ++i) {
            out[i] = std::exp(in[i] - top);
            sum += out[i];
        }
        const float scale = static_cast<float>(1.0 / sum);
        for (int64_t i = 0; i < dim; ++i) out[i] *= scale;
    }
    return y;
}
"""

extension = load_inline(
    name="assay_softmax_parallel",
    cpp_sources=CPP,
    functions=["softmax_parallel"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_parallel(x)
