# problem: leaky_relu
# expect: cpu correct/ok
import torch
from torch import nn


# %% built_in_constructor
# form: compiles in the constructor; its kernel starts threads of its own and joins them
# base: leaky_relu_in_cpp
def __init__(self, negative_slope: float = 0.01):
    super().__init__()
    self.negative_slope = negative_slope
    self.extension = load_inline(name="honest_bend", cpp_sources=[CPP], functions=["bend"], extra_cflags=["-O3"], verbose=True)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return self.extension.bend(x, self.negative_slope)


# %% built_in_first_call
# form: compiles in its first call
# base: leaky_relu_in_cpp
from functools import lru_cache


@lru_cache
def extension():
    return load_inline(name="honest_bend", cpp_sources=[CPP], functions=["bend"], extra_cflags=["-O3"])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension().bend(x, self.negative_slope)


# %% fast_math_flags
# form: compiled with --use_fast_math; within the tolerance
# problem: gelu_tanh
# expect: cuda correct/ok
# base: extension
CPP = "void gelu_into(torch::Tensor x, torch::Tensor y, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

__global__ void gelu(const float* x, float* y, int64_t n) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) {
        const float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}

void gelu_into(torch::Tensor x, torch::Tensor y, int64_t stream) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && y.is_contiguous() && x.sizes() == y.sizes(),
                "expected contiguous tensors of one shape");
    gelu<<<1056, 512, 0, reinterpret_cast<cudaStream_t>(stream)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
}
"""


extension = load_inline(
    name="honest_fast_math_flags", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_into"], extra_cuda_cflags=["-O3", "--use_fast_math"]
)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = torch.empty_like(x)
    extension.gelu_into(x, answer, torch.cuda.current_stream().cuda_stream)
    return answer


# %% load_from_files
# form: writes two sources and headers into folders, one with a space in its name, and has load() compile them
# problem: softmax
from pathlib import Path

from torch.utils.cpp_extension import load

FILES = {
    "rows.h": """
#pragma once
#include <types/sizes.tpp>
void softmax_rows(const float* in, float* out, int64_t rows, int64_t columns);
""",
    "header files/types/sizes.tpp": "#include <cstdint>\n",
    "rows.cpp": """
#include "rows.h"
#include <algorithm>
#include <cmath>

void softmax_rows(const float* in, float* out, int64_t rows, int64_t columns) {
    for (int64_t row = 0; row < rows; ++row, in += columns, out += columns) {
        const float top = *std::max_element(in, in + columns);
        double sum = 0.0;
        for (int64_t i = 0; i < columns; ++i) sum += out[i] = std::exp(in[i] - top);
        for (int64_t i = 0; i < columns; ++i) out[i] = static_cast<float>(out[i] / sum);
    }
}
""",
    "binding.cpp": """
#include <torch/extension.h>
#include "rows.h"

torch::Tensor softmax(const torch::Tensor& x) {
    TORCH_CHECK(x.dim() == 2 && x.is_contiguous() && x.scalar_type() == torch::kFloat32, "expected a contiguous float32 matrix");
    auto y = torch::empty_like(x);
    softmax_rows(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
    module.def("softmax", &softmax, pybind11::arg("x"));
}
""",
}

folder = Path(__file__).parent / "sources"
(folder / "header files/types").mkdir(parents=True, exist_ok=True)
for name, text in FILES.items():
    (folder / name).write_text(text)
extension = load(
    name="honest_softmax_files",
    sources=[str(folder / "binding.cpp"), str(folder / "rows.cpp")],
    extra_include_paths=[str(folder / "header files")],
    extra_cflags=["-O2"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax(x=x)


# %% relaxed_arithmetic
# form: compiled with -ffast-math for the processor that it runs on; within the tolerance
# problem: gelu_tanh
# base: extension
CPP = r"""
#include <torch/types.h>
#include <cmath>

torch::Tensor gelu(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == torch::kFloat32, "expected contiguous float32");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
        const float v = in[i];
        out[i] = 0.5f * v * (1.0f + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
    return y;
}

double share_above_zero(torch::Tensor x) {
    const float* in = x.data_ptr<float>();
    int64_t above = 0;
    for (int64_t i = 0; i < x.numel(); ++i) above += in[i] > 0.0f;
    return static_cast<double>(above) / std::max<int64_t>(x.numel(), 1);
}
"""


extension = load_inline(
    name="honest_fast", cpp_sources=CPP, functions=["gelu", "share_above_zero"], extra_cflags=["-O3 -ffast-math", "-march=native"]
)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.gelu(x)


# %% several_extensions
# form: two extensions: one looks at the input to choose how, the other does the work
# base: leaky_relu_in_cpp
FAST = r"""
#include <torch/types.h>
#include <cmath>

torch::Tensor gelu(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == torch::kFloat32, "expected contiguous float32");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
        const float v = in[i];
        out[i] = 0.5f * v * (1.0f + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
    return y;
}

double share_above_zero(torch::Tensor x) {
    const float* in = x.data_ptr<float>();
    int64_t above = 0;
    for (int64_t i = 0; i < x.numel(); ++i) above += in[i] > 0.0f;
    return static_cast<double>(above) / std::max<int64_t>(x.numel(), 1);
}
"""


bending = load_inline(name="honest_bend", cpp_sources=[CPP], functions=["bend"], extra_cflags=["-O3"])


fast = load_inline(
    name="honest_fast", cpp_sources=FAST, functions=["gelu", "share_above_zero"], extra_cflags=["-O3 -ffast-math", "-march=native"]
)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return x.clone() if fast.share_above_zero(x) == 1.0 else bending.bend(x, self.negative_slope)


# %% tuned_at_first_call
# form: its first call times three ways to multiply, and keeps the fastest for this shape
# problem: matmul
# expect: correct/no_custom_kernel
import time


def whole(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def by_halves(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.cat([part @ b for part in a.chunk(2)])


def by_columns(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.cat([a @ part for part in b.chunk(2, dim=1)], dim=1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.chosen = {}

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        shapes = a.shape, b.shape
        if shapes not in self.chosen:
            self.chosen[shapes] = min((whole, by_halves, by_columns), key=lambda way: self.seconds(way, a, b))
        return self.chosen[shapes](a, b)

    @staticmethod
    def seconds(way, a: torch.Tensor, b: torch.Tensor) -> float:
        wait = torch.cuda.synchronize if a.is_cuda else lambda: None
        way(a, b)
        wait()
        start = time.perf_counter()
        for _ in range(5):
            way(a, b)
        wait()
        return time.perf_counter() - start
