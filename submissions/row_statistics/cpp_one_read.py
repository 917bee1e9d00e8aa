# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""Four statistics of a row in C++ for the CPU: one pass from memory for three of them, and one from the cache for the variance."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>

__attribute__((target("avx2,fma")))
static void row_of(const float* in, int64_t n, float* mean, float* variance, float* least, float* largest) {
    float sum = 0.0f;
    float low = in[0];
    float high = in[0];
#pragma omp simd reduction(+ : sum) reduction(min : low) reduction(max : high)
    for (int64_t i = 0; i < n; ++i) {
        sum += in[i];
        low = in[i] < low ? in[i] : low;
        high = in[i] > high ? in[i] : high;
    }
    const float middle = sum / n;
    float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; ++i) squares += (in[i] - middle) * (in[i] - middle);
    *mean = middle;
    *variance = squares / n;
    *least = low;
    *largest = high;
}

std::vector<torch::Tensor> row_statistics(torch::Tensor x) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.dim() == 2 && x.is_contiguous(),
                "expected a contiguous float32 matrix on the CPU");
    const int64_t rows = x.size(0);
    const int64_t columns = x.size(1);
    std::vector<torch::Tensor> answers;
    float* out[4];
    for (float*& data : out) {
        answers.push_back(torch::empty({rows}, x.options()));
        data = answers.back().data_ptr<float>();
    }
    const float* in = x.data_ptr<float>();
#pragma omp parallel for schedule(static) if (rows * columns >= 1 << 17)
    for (int64_t row = 0; row < rows; ++row) {
        row_of(in + row * columns, columns, out[0] + row, out[1] + row, out[2] + row, out[3] + row);
    }
    return answers;
}
"""

extension = load_inline(
    name="assay_row_statistics_one_read",
    cpp_sources=CPP,
    functions=["row_statistics"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return dict(zip(("mean", "variance", "least", "largest"), extension.row_statistics(x), strict=True))
