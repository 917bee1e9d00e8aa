# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""One pass for the sum of squares and one for the product, a row at a time."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/Parallel.h>
#include <cmath>
#include <torch/extension.h>

torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps) {
  auto input = x.contiguous();
  auto out = torch::empty_like(input);
  const int64_t rows = input.size(0), columns = input.size(1);
  const float *in = input.data_ptr<float>(), *w = weight.data_ptr<float>();
  float *o = out.data_ptr<float>();
  at::parallel_for(0, rows, std::max<int64_t>(1, 32768 / columns), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const float *from = in + row * columns;
      float *to = o + row * columns;
      float sums[16] = {};
      int64_t column = 0;
      for (; column + 16 <= columns; column += 16)
        for (int lane = 0; lane < 16; ++lane) sums[lane] += from[column + lane] * from[column + lane];
      float sum = 0;
      for (; column < columns; ++column) sum += from[column] * from[column];
      for (float lane : sums) sum += lane;
      const float scale = 1.0f / std::sqrt(sum / columns + static_cast<float>(eps));
      for (int64_t each = 0; each < columns; ++each) to[each] = from[each] * scale * w[each];
    }
  });
  return out;
}
"""

extension = load_inline(
    name="rms_norm_sizes_cpp",
    cpp_sources=SOURCE,
    functions=["rms_norm"],
    extra_cflags=["-O3", "-march=native", "-ffast-math"],
)


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.rms_norm(x, self.weight, self.eps)
