# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""Top-p sampling in C++ for the CPU: a sorted copy of the row says which probability is the least that is kept."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

torch::Tensor top_p_sampling(torch::Tensor logits, torch::Tensor noise, double share) {
    for (const torch::Tensor& t : {logits, noise}) {
        TORCH_CHECK(t.device().is_cpu() && t.scalar_type() == torch::kFloat32 && t.dim() == 2 && t.is_contiguous(),
                    "expected contiguous float32 tensors on the CPU");
    }
    const int64_t rows = logits.size(0), columns = logits.size(1);
    auto tokens = torch::empty({rows}, logits.options().dtype(torch::kLong));
    const float *in = logits.data_ptr<float>(), *chances = noise.data_ptr<float>();
    int64_t* out = tokens.data_ptr<int64_t>();
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        const float* x = in + row * columns;
        const float largest = *std::max_element(x, x + columns);
        std::vector<float> powers(columns);
        for (int64_t i = 0; i < columns; ++i) powers[i] = std::exp(x[i] - largest);
        const double enough = share * std::accumulate(powers.begin(), powers.end(), 0.0);
        std::vector<float> ordered(powers);
        std::sort(ordered.begin(), ordered.end(), std::greater<float>());
        double before = 0.0;
        int64_t count = 0;
        while (count < columns && before < enough) before += ordered[count++];
        const float least = ordered[count - 1];
        int64_t best = 0;
        float most = -1.0f;
        for (int64_t i = 0; i < columns; ++i) {
            const float value = powers[i] < least ? 0.0f : powers[i] / chances[row * columns + i];
            if (value > most) best = i, most = value;
        }
        out[row] = best;
    }
    return tokens;
}
"""

extension = load_inline(
    name="assay_top_p_sampling_cpp_sorted",
    cpp_sources=CPP,
    functions=["top_p_sampling"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, share: float):
        super().__init__()
        self.share = share

    def forward(self, logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        return extension.top_p_sampling(logits, noise, self.share)
