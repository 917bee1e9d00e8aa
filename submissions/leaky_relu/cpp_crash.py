# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu run_failed/process_crash
"""Wrong: takes the element's number for a row's and steps 2^30 elements at a time, out of all mapped memory."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>

torch::Tensor leaky_relu_strides(torch::Tensor x, double slope) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(),
                "expected a contiguous float32 tensor on the CPU");
    auto y = torch::empty_like(x);
    constexpr int64_t kPitch = int64_t{1} << 30;
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) out[i * kPitch] = in[i] > 0.0f ? in[i] : in[i] * static_cast<float>(slope);
    return y;
}
"""

extension = load_inline(
    name="assay_leaky_relu_strides",
    cpp_sources=CPP,
    functions=["leaky_relu_strides"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky_relu_strides(x, self.negative_slope)
