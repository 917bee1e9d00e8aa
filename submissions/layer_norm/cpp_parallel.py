# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""Layer norm in C++ for the CPU, with weight and bias from the module's own parameters."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <cmath>

torch::Tensor layer_norm_parallel(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    for (const torch::Tensor& t : {x, weight, bias}) {
        TORCH_CHECK(t.device().is_cpu() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(),
                    "expected contiguous float32 tensors on the CPU");
    }
    const int64_t dim = weight.numel();
    TORCH_CHECK(x.size(-1) == dim && bias.numel() == dim, "the last dimension must match the parameters");
    auto y = torch::empty_like(x);
    const int64_t rows = x.numel() / dim;
    const float* x_data = x.data_ptr<float>();
    const float* w = weight.data_ptr<float>();
    const float* b = bias.data_ptr<float>();
    float* y_data = y.data_ptr<float>();
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = x_data + row * dim;
        float* out = y_data + row * dim;
        double sum = 0.0;
        for (int64_t i = 0; i < dim; ++i) sum += in[i];
        const double mean = sum / static_cast<double>(dim);
        double squares = 0.0;
        for (int64_t i = 0; i < dim; ++i) squares += (in[i] - mean) * (in[i] - mean);
        const double scale = 1.0 / std::sqrt(squares / static_cast<double>(dim) + eps);
        for (int64_t i = 0; i < dim; ++i) out[i] = static_cast<float>((in[i] - mean) * scale * w[i] + b[i]);
    }
    return y;
}
"""

extension = load_inline(
    name="assay_layer_norm_parallel",
    cpp_sources=CPP,
    functions=["layer_norm_parallel"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.layer_norm_parallel(x, self.norm.weight.detach(), self.norm.bias.detach(), self.norm.eps)
