# author: assay
# expect: cuda build_failed/missing_header
# expect: cpu build_failed/missing_header
"""Wrong: the source that it hands to load() includes a header which it forgot to write beside it."""

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.cpp_extension import load

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
    """The extension made of the source, written to a folder of its own."""
    folder = Path(tempfile.mkdtemp())
    (folder / "gelu.cpp").write_text(SOURCE)
    return load(name="assay_gelu_cpp_header_forgotten", sources=[str(folder / "gelu.cpp")], extra_cflags=["-O2"])

extension = build()

class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_each(x)
