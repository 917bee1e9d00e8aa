# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""Selective scan in C++ for the CPU: a channel's state is kept while it goes through time."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <cmath>
#include <vector>

torch::Tensor selective_scan(torch::Tensor x, torch::Tensor step, torch::Tensor written, torch::Tensor read, torch::Tensor rates,
                             torch::Tensor skip) {
    for (const torch::Tensor& t : {x, step, written, read, rates, skip}) {
        TORCH_CHECK(t.device().is_cpu() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(), "expected contiguous float32 on the CPU");
    }
    const int64_t batches = x.size(0), length = x.size(1), channels = x.size(2), states = rates.size(1);
    auto y = torch::empty_like(x);
    const float *in = x.data_ptr<float>(), *steps = step.data_ptr<float>(), *to = written.data_ptr<float>(), *from = read.data_ptr<float>();
    const float *logarithms = rates.data_ptr<float>(), *past = skip.data_ptr<float>();
    float* out = y.data_ptr<float>();
#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t batch = 0; batch < batches; ++batch) {
        for (int64_t channel = 0; channel < channels; ++channel) {
            std::vector<float> state(states), rate(states);
            for (int64_t n = 0; n < states; ++n) rate[n] = -std::exp(logarithms[channel * states + n]);
            for (int64_t time = 0; time < length; ++time) {
                const int64_t at = (batch * length + time) * channels + channel, row = (batch * length + time) * states;
                float sum = past[channel] * in[at];
                for (int64_t n = 0; n < states; ++n) {
                    state[n] = std::exp(steps[at] * rate[n]) * state[n] + steps[at] * in[at] * to[row + n];
                    sum += state[n] * from[row + n];
                }
                out[at] = sum;
            }
        }
    }
    return y;
}
"""

extension = load_inline(
    name="assay_selective_scan_cpp_channels",
    cpp_sources=CPP,
    functions=["selective_scan"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, channels: int, states: int):
        super().__init__()
        self.rates = nn.Parameter(torch.rand(channels, states) * 2.5)
        self.skip = nn.Parameter(torch.randn(channels))

    def forward(self, x: torch.Tensor, step: torch.Tensor, written: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
        return extension.selective_scan(x, step, written, read, self.rates.detach(), self.skip.detach())
