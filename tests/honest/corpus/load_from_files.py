# form: writes two sources and a header into a folder, and has load() compile them
# problem: softmax
# expect: cpu correct/ok
from pathlib import Path

import torch
from torch import nn
from torch.utils.cpp_extension import load

FILES = {
    "rows.h": """
#pragma once
#include <cstdint>
void softmax_rows(const float* in, float* out, int64_t rows, int64_t columns);
""",
    "rows.cpp": """
#include "rows.h"
#include <algorithm>
#include <cmath>

void softmax_rows(const float* in, float* out, int64_t rows, int64_t columns) {
    for (int64_t row = 0; row < rows; ++row, in += columns, out += columns) {
        const float top = *std::max_element(in, in + columns);
        double sum = 0.0;
        for (int64_t i = 0; i < columns; ++i) sum += out[i] = std::exp(in[i] - top);
        for (int64_t i = 0; i < columns; ++i) out[i] = static_cast<float>(out[i] / sum);
    }
}
""",
    "binding.cpp": """
#include <torch/extension.h>
#include "rows.h"

torch::Tensor softmax(const torch::Tensor& x) {
    TORCH_CHECK(x.dim() == 2 && x.is_contiguous() && x.scalar_type() == torch::kFloat32, "expected a contiguous float32 matrix");
    auto y = torch::empty_like(x);
    softmax_rows(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
    module.def("softmax", &softmax, pybind11::arg("x"));
}
""",
}

folder = Path(__file__).parent / "sources"
folder.mkdir(exist_ok=True)
for name, text in FILES.items():
    (folder / name).write_text(text)
extension = load(
    name="honest_softmax_files",
    sources=[str(folder / "binding.cpp"), str(folder / "rows.cpp")],
    extra_include_paths=[str(folder)],
    extra_cflags=["-O2"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax(x=x)
