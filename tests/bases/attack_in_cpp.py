# C++ functions for attacks.
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/types.h>
#include <torch/csrc/utils/pybind.h>
#include <chrono>
#include <thread>

static void leaky_relu(const float* in, float* out, int64_t n, float slope) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i] > 0.0f ? in[i] : in[i] * slope;
}

torch::Tensor answer(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    leaky_relu(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), static_cast<float>(slope));
    return y;
}

void answer_into(torch::Tensor x, torch::Tensor y, double slope) {
    leaky_relu(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), static_cast<float>(slope));
}

torch::Tensor answer_later(torch::Tensor x, double slope, int64_t delay_ms) {
    auto y = torch::empty_like(x);
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
        leaky_relu(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), static_cast<float>(slope));
    }).detach();
    return y;
}

void nothing() {}
"""

extension = load_inline(name="assay_attack_cpp", cpp_sources=CPP, functions=["answer", "answer_into", "answer_later", "nothing"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope=0.01):
        super().__init__()
        self.slope, self.calls, self.out = negative_slope, 0, None
