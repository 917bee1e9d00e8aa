# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""GELU in C++ for the CPU from files: writes a header and a source, and compiles them with torch.utils.cpp_extension.load."""

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.cpp_extension import load

HEADER = r"""
#pragma once
#include <cmath>

inline float gelu(float v) {
    return 0.5f * v * (1.0f + std::tanh(0.7978845608028654f * (v + 0.044715f * v * v * v)));
}
"""

SOURCE = r"""
#include <torch/extension.h>
#include "gelu.h"

torch::Tensor gelu_each(torch::Tensor x) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(),
                "expected a contiguous float32 tensor on the CPU");
    auto y = torch::empty_like(x);
    for (int64_t i = 0; i < x.numel(); ++i) y.data_ptr<float>()[i] = gelu(x.data_ptr<float>()[i]);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("gelu_each", &gelu_each); }
"""


def build():
    """The extension made of the two files, written to a folder of their own."""
    folder = Path(tempfile.mkdtemp())
    (folder / "gelu.h").write_text(HEADER)
    (folder / "gelu.cpp").write_text(SOURCE)
    return load(name="assay_gelu_cpp_files", sources=[str(folder / "gelu.cpp")], extra_cflags=["-O2"])


extension = build()


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_each(x)
