# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""Gradient of cross entropy in C++ for the CPU: powers are written once and turned into the gradient in place."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <algorithm>
#include <cmath>

torch::Tensor cross_entropy_backward(torch::Tensor logits, torch::Tensor targets, torch::Tensor gradient) {
    TORCH_CHECK(logits.device().is_cpu() && logits.scalar_type() == torch::kFloat32 && logits.dim() == 2 && logits.is_contiguous(),
                "expected contiguous float32 logits on the CPU");
    TORCH_CHECK(targets.is_contiguous() && gradient.is_contiguous(), "expected contiguous tensors");
    const int64_t rows = logits.size(0), classes = logits.size(1);
    auto gradients = torch::empty_like(logits);
    const float *in = logits.data_ptr<float>(), *factors = gradient.data_ptr<float>();
    const int64_t* right = targets.data_ptr<int64_t>();
    float* out = gradients.data_ptr<float>();
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        const float* x = in + row * classes;
        float* y = out + row * classes;
        const float largest = *std::max_element(x, x + classes);
        double total = 0.0;
        for (int64_t i = 0; i < classes; ++i) total += y[i] = std::exp(x[i] - largest);
        const float share = static_cast<float>(1.0 / total), factor = factors[row];
        for (int64_t i = 0; i < classes; ++i) y[i] = (y[i] * share - (i == right[row])) * factor;
    }
    return gradients;
}
"""

extension = load_inline(
    name="assay_cross_entropy_backward_cpp_rows",
    cpp_sources=CPP,
    functions=["cross_entropy_backward"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, logits: torch.Tensor, targets: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return extension.cross_entropy_backward(logits, targets, gradient)
