# Leaky ReLU by two threads; the file compiles and calls it.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/types.h>
#include <thread>
#include <vector>

torch::Tensor bend(torch::Tensor x, double slope) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == torch::kFloat32, "expected contiguous float32");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const float factor = static_cast<float>(slope);
    const int64_t share = (x.numel() + 1) / 2;
    std::vector<std::thread> threads;
    for (int64_t start = 0; start < x.numel(); start += share) {
        const int64_t end = std::min(start + share, x.numel());
        threads.emplace_back([=] {
            for (int64_t i = start; i < end; ++i) out[i] = in[i] > 0.0f ? in[i] : in[i] * factor;
        });
    }
    for (auto& thread : threads) thread.join();
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope
