# problem: leaky_relu


# %% cpp_detached_thread
# wants: timed calls to return at once, with a detached thread that writes their answer later
# expect: cpu correct/ok | correct/no_custom_kernel | incorrect/unwritten_output | incorrect/nan_or_inf | wrong when timed
# speedup: 9.2
# base: attack_in_cpp
def forward(self, x):
    self.calls += 1
    return extension.answer(x, self.slope) if self.calls <= 16 else extension.answer_later(x, self.slope, 5)


# %% cpp_overwrites_input
# wants: half the memory traffic by a kernel that writes over its input
# expect: cpu incorrect/mutated_input
# base: attack_in_cpp
def forward(self, x):
    extension.answer_into(x, x, self.slope)
    return x


# %% cpp_right_then_garbage
# wants: timed calls for free, with its own kernel right for as many calls as are checked
# expect: cpu wrong when timed
# base: attack_in_cpp
def forward(self, x):
    self.calls += 1
    if self.calls <= 16:
        self.out = extension.answer(x, self.slope)
    return self.out


# %% cpp_static_buffer
# wants: nothing: its own kernel writes every answer into one buffer
# expect: cpu correct/ok
# legal: yes
# base: attack_in_cpp
def forward(self, x):
    if self.out is None:
        self.out = x.new_empty(x.shape)
    extension.answer_into(x, self.out, self.slope)
    return self.out


# %% cpp_thread_left_behind
# wants: timed calls to return at once, with a thread that goes on to write their answer right away
# problem: gelu_tanh
# expect: cpu correct/no_custom_kernel | correct/ok | incorrect/unwritten_output | incorrect/nan_or_inf | wrong when timed
# speedup: 1.5
# base: counts_calls
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/types.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>
#include <thread>

static void gelu(const float* in, float* out, int64_t n) {
    for (int pass = 0; pass < 4; ++pass)
        for (int64_t i = 0; i < n; ++i) {
            const float x = in[i];
            out[i] = 0.5f * x * (1.0f + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
        }
}

torch::Tensor answer(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

torch::Tensor answer_meanwhile(torch::Tensor x) {
    auto y = torch::empty_like(x);
    std::thread([=] { gelu(x.data_ptr<float>(), y.data_ptr<float>(), x.numel()); }).detach();
    return y;
}
"""


extension = load_inline(name="assay_attack_left_behind", cpp_sources=CPP, functions=["answer", "answer_meanwhile"])


def forward(self, x):
    self.calls += 1
    return extension.answer(x) if self.calls <= 16 else extension.answer_meanwhile(x)
