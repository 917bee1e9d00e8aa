# problem: softmax
# expect: run_failed/early_exit


# %% leaves_by_sys_exit
# fault: sys.exit() where something does not suit it
# problem: topk
# says: SystemExit
import sys


def __init__(self, k):
    super().__init__()
    if k % 2:
        sys.exit(f"k = {k} is odd")  # HERE


def forward(self, x):
    return x


# %% leaves_in_cpp
# fault: its extension calls exit()
# expect: cpu run_failed/early_exit
# says: exit code 4
# base: run_in_cpp
CPP = r"""
#include <cstdlib>
torch::Tensor run(torch::Tensor x) {
    if (x.dim() == 2) std::_Exit(4);
    return x;
}
"""


# %% leaves_without_a_word
# fault: os._exit() ends the process
# problem: gelu_tanh
# says: exit code 7
import os


def forward(self, x):
    if x.numel() > 1:
        os._exit(7)
    return x


# %% bytes_by_the_tebibyte
# fault: a buffer of Python's that no machine has
# problem: sum_reduction
# expect: run_failed/out_of_memory
# says: Allocate less
def __init__(self, dim):
    super().__init__()
    self.workspace = bytearray(1 << 46)  # HERE


def forward(self, x):
    return x.sum(1, keepdim=True)


# %% table_of_everything
# fault: a temporary for every pair of elements
# expect: run_failed/out_of_memory
# says: Allocate less
def forward(self, x):
    flat = x.reshape(-1)
    pairs = torch.empty(flat.numel(), flat.numel(), flat.numel(), device=x.device)  # HERE
    return x + pairs.sum()


# %% vector_without_end
# fault: a std::vector that is resized beyond all memory
# problem: leaky_relu
# expect: cpu run_failed/out_of_memory
# says: std::bad_alloc
# base: extension
CPP = r"""
#include <vector>

torch::Tensor leaky(torch::Tensor x) {
    std::vector<double> copies;
    copies.reserve(static_cast<size_t>(1) << 46);
    return x;
}
"""


ops = load_inline(name="reserving", cpp_sources=CPP, functions=["leaky"])


def forward(self, x):
    return ops.leaky(x)  # HERE


# %% divides_by_zero
# fault: an integer division by zero in its extension
# problem: sum_reduction
# expect: cpu run_failed/process_crash
# says: SIGFPE
# says: divided by zero
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
torch::Tensor sums(torch::Tensor x, int64_t parts) {
    volatile int64_t each = x.size(1) / parts;
    return x.narrow(1, 0, each).sum(1, true);
}
"""
ops = load_inline(name="in_parts", cpp_sources=CPP, functions=["sums"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.parts = dim - 1

    def forward(self, x):
        return ops.sums(x, self.parts)


# %% exception_across_noexcept
# fault: a C++ exception in a function that promises none
# problem: matmul
# expect: cpu run_failed/process_crash
# says: SIGABRT
# says: terminate called after throwing an instance of 'std::out_of_range'
# base: extension
CPP = r"""
#include <vector>

static float last(const std::vector<float>& values) noexcept { return values.at(values.size()); }

torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    std::vector<float> row(a.data_ptr<float>(), a.data_ptr<float>() + a.size(1));
    return a.matmul(b) + last(row);
}
"""


ops = load_inline(name="throwing", cpp_sources=CPP, functions=["product"])


def forward(self, a, b):
    return ops.product(a, b)


# %% null_pointer
# fault: it reads through a null pointer
# expect: run_failed/process_crash
# says: SIGSEGV
# says: accessed an invalid address
import ctypes


def forward(self, x):
    return x + ctypes.string_at(16, 4)[0]


# %% converges_never
# fault: an iteration whose tolerance is never met
# expect: run_failed/timeout
# says: forward() did not end within
def forward(self, x):
    estimate = torch.zeros_like(x)
    exact = torch.softmax(x, 1)
    while (estimate - exact).abs().max() > -1:
        estimate = estimate + 0.5 * (exact - estimate)
    return estimate


# %% counts_with_a_byte
# fault: a loop counter that is too narrow for its bound
# problem: leaky_relu
# expect: cpu run_failed/timeout
# says: endless loop
# base: run_in_cpp
CPP = r"""
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (volatile unsigned char i = 0; i < 300; ++i) out[i] = in[i] > 0 ? in[i] : 0.01f * in[i];
    return y;
}
"""


# %% waits_for_a_lock
# fault: forward() takes a lock twice
# problem: gelu_tanh
# expect: run_failed/timeout
# says: did not end within
import threading

lock = threading.Lock()


def forward(self, x):
    with lock:
        return self.finish(x)


def finish(self, x):
    with lock:
        return torch.nn.functional.gelu(x, approximate="tanh")
