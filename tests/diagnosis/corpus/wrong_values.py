# problem: softmax
# expect: incorrect/wrong_values


# %% maximum_of_nothing
# fault: a running maximum that starts at the largest number, in C++
# expect: cpu incorrect/nan_or_inf
# says: NaN or infinite
# base: run_in_cpp
CPP = r"""
#include <cmath>
#include <limits>
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int64_t columns = x.size(1);
    for (int64_t row = 0; row < x.size(0); ++row) {
        const float* in = x.data_ptr<float>() + row * columns;
        float* out = y.data_ptr<float>() + row * columns;
        float largest = std::numeric_limits<float>::max(), total = 0.0f;
        for (int64_t i = 0; i < columns; ++i) largest = std::fmax(largest, in[i]);
        for (int64_t i = 0; i < columns; ++i) total += out[i] = std::exp(in[i] - largest);
        for (int64_t i = 0; i < columns; ++i) out[i] /= total;
    }
    return y;
}
"""


# %% norm_without_epsilon
# fault: the root mean square of a row of zeros is divided by
# problem: rms_norm
# expect: incorrect/nan_or_inf
# says: nan, expected 0
def __init__(self, dim, eps):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)


def forward(self, x):
    return x / x.square().mean(-1, keepdim=True).sqrt() * self.norm.weight


# %% without_the_maximum
# fault: a softmax that does not subtract the maximum
# expect: incorrect/nan_or_inf
# says: subtract the row's maximum before exp()
def forward(self, x):
    powers = torch.exp(x)
    return powers / powers.sum(1, keepdim=True)


# %% extension_beside_the_library
# fault: its extension is called, and the answer is the library's
# problem: leaky_relu
# expect: cpu correct/no_custom_kernel
# says: still right
# base: extension
CPP = r"""
torch::Tensor touch(torch::Tensor x) {
    return x.clone();
}
"""


ops = load_inline(name="touching", cpp_sources=CPP, functions=["touch"])


def forward(self, x):
    ops.touch(x)
    return torch.nn.functional.leaky_relu(x, 0.01)


# %% kernel_for_show
# fault: its extension computes while the module is constructed, and the library for every call
# problem: sum_reduction
# expect: cpu correct/no_custom_kernel
# says: still right
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
double total(torch::Tensor x) {
    const float* values = x.data_ptr<float>();
    double sum = 0;
    for (long i = 0; i < x.numel(); ++i) sum += values[i];
    return sum;
}
"""
ops = load_inline(name="kernel_for_show", cpp_sources=CPP, functions=["total"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.checked = ops.total(torch.ones(64))

    def forward(self, x):
        return x.sum(self.dim, keepdim=True)


# %% library_alone
# fault: right, and nothing in it is its own
# problem: gelu_tanh
# expect: correct/no_custom_kernel
# says: it has no kernel
def forward(self, x):
    return torch.nn.functional.gelu(x, approximate="tanh")


# %% products_in_half
# fault: the product is computed in float16
# problem: matmul
# expect: incorrect/precision_loss
# says: every value is a number of float16
def forward(self, a, b):
    return ((a / 16).half() @ b.half()).float() * 16


# %% rational_tanh
# fault: an approximation of tanh that is good to four digits
# problem: gelu_tanh
# expect: cpu incorrect/precision_loss
# says: or an approximate formula
# base: run_in_cpp
CPP = r"""
static float roughly_tanh(float v) {
    const float bounded = v > 4.97f ? 4.97f : v < -4.97f ? -4.97f : v;
    const float square = bounded * bounded;
    const float above = bounded * (135135.0f + square * (17325.0f + square * (378.0f + square)));
    const float below = 135135.0f + square * (62370.0f + square * (3150.0f + square * 28.0f));
    return above / below;
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
        const float v = in[i];
        const float inner = 0.7978845608f * (v + 0.044715f * v * v * v);
        out[i] = 0.5f * v * (1.0f + roughly_tanh(inner) * 0.9998f);
    }
    return y;
}
"""


# %% rounded_on_its_way
# fault: intermediate results are stored as bfloat16
# expect: incorrect/precision_loss
# says: bfloat16
def forward(self, x):
    exact = torch.softmax(x, 1)
    return exact.bfloat16().float()


# %% last_tile_forgotten
# fault: the last tile of a product is added twice
# problem: matmul
# says: a tile: columns the last 29; rows the last 3
def forward(self, a, b):
    out = a @ b
    out[64:, 64:] += a[64:] @ b[:, 64:]
    return out


# %% mean_in_place_of_a_sum
# fault: the sum is divided by the count
# problem: sum_reduction
# says: times what is expected
def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return x.mean(self.dim, keepdim=True)


# %% normalizes_the_columns
# fault: the softmax runs over the wrong dimension
# says: expected
def forward(self, x):
    powers = torch.exp(x - x.amax(0, keepdim=True))
    return powers / powers.sum(0, keepdim=True)


# %% right_for_positive_numbers
# fault: the negative branch is forgotten; its own inputs have one
# problem: leaky_relu
# says: all of them are 0
def forward(self, x):
    return torch.clamp(x, min=0.0)


# %% tail_left_at_zero
# fault: whole vectors of 8 alone are computed, the rest stays zero
# problem: gelu_tanh
# expect: cpu incorrect/wrong_values
# says: whole columns: the last 5
# says: all of them are 0
# base: run_in_cpp
CPP = r"""
#include <cmath>
torch::Tensor run(torch::Tensor x) {
    auto y = torch::zeros_like(x);
    const int64_t rows = x.size(0), columns = x.size(1);
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = x.data_ptr<float>() + row * columns;
        float* out = y.data_ptr<float>() + row * columns;
        for (int64_t i = 0; i + 8 <= columns; i += 8)
            for (int64_t j = i; j < i + 8; ++j)
                out[j] = 0.5f * in[j] * (1.0f + std::tanh(0.7978845608f * (in[j] + 0.044715f * in[j] * in[j] * in[j])));
    }
    return y;
}
"""
