# form: an operator of its own, registered with TORCH_LIBRARY from an object that is no Python module, and called through torch.ops
# problem: rms_norm
# expect: cpu correct/ok
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.cpp_extension import load

CPP = r"""
#include <torch/library.h>
#include <torch/types.h>
#include <cmath>

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
    TORCH_CHECK(x.is_contiguous() && weight.is_contiguous() && x.scalar_type() == at::kFloat, "expected contiguous float32");
    auto y = at::empty_like(x);
    const int64_t columns = x.size(-1);
    const float* w = weight.data_ptr<float>();
    for (int64_t row = 0; row < x.numel() / columns; ++row) {
        const float* in = x.data_ptr<float>() + row * columns;
        float* out = y.data_ptr<float>() + row * columns;
        double energy = 0.0;
        for (int64_t i = 0; i < columns; ++i) energy += static_cast<double>(in[i]) * in[i];
        const float scale = static_cast<float>(1.0 / std::sqrt(energy / columns + eps));
        for (int64_t i = 0; i < columns; ++i) out[i] = in[i] * scale * w[i];
    }
    return y;
}

TORCH_LIBRARY(honest, library) {
    library.def("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor");
}

TORCH_LIBRARY_IMPL(honest, CPU, library) {
    library.impl("rms_norm", &rms_norm);
}
"""

source = Path(tempfile.mkdtemp()) / "operator.cpp"
source.write_text(CPP)
load(name="honest_operator", sources=str(source), is_python_module=False)


class ModelNew(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.honest.rms_norm(x, self.norm.weight, self.norm.eps)
