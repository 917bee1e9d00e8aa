# problem: leaky_relu
# expect: cpu build_failed/link_error
from torch import nn
from torch.utils.cpp_extension import load_inline

# %% declared_and_never_defined
# fault: a helper is declared, called, and defined nowhere
# says: undefined symbol
# base: extension
ops = load_inline(
    name="without_slope",
    cpp_sources="""
float with_slope(float x, double slope);  // HERE

float run(float x) { return with_slope(x, 0.01); }
""",
    no_implicit_headers=True,
)


def forward(self, x):
    return ops.run(x)


# %% defined_twice
# fault: two sources define the same function
# problem: gelu_tanh
# says: multiple definition of `scale
import os
import tempfile

from torch.utils.cpp_extension import load

folder = tempfile.mkdtemp()
FIRST = """
float scale(float x) { return 2.0f * x; }  // HERE
"""
SECOND = """
float scale(float x) { return x; }
"""
paths = []
for name, text in (("first.cpp", FIRST), ("second.cpp", SECOND)):
    paths.append(os.path.join(folder, name))
    with open(paths[-1], "w") as file:
        file.write(text)
module = load(name="twice", sources=paths)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.scale(x)


# %% library_that_is_not_there
# fault: a library is linked that does not exist
# problem: matmul
# says: cannot find -lfastgemm
# base: extension
ops = load_inline(
    name="with_library",
    cpp_sources="float product(float a, float b) { return a * b; }",
    extra_ldflags=["-lfastgemm"],
    no_implicit_headers=True,
)


def forward(self, a, b):
    return ops.product(a, b)


# %% misuse_of_a_keyword
# fault: load_inline has no argument cuda_source
# problem: softmax
# expect: build_failed/load_inline_misuse
# says: cuda_source
SOURCE = "torch::Tensor f(torch::Tensor x) { return x; }"
module = load_inline(name="m", cpp_sources=SOURCE, cuda_source=SOURCE, functions=["f"])  # HERE


class ModelNew(nn.Module):
    def forward(self, x):
        return module.f(x)


# %% misuse_of_functions
# fault: functions= is a number
# expect: build_failed/load_inline_misuse
# says: functions
COUNT = 1
extension = load_inline(  # HERE
    "counted", "torch::Tensor f(torch::Tensor x) { return x; }", functions=COUNT
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.f(x)


# %% misuse_without_sources
# fault: load_inline is called without cpp_sources
# problem: gelu_tanh
# expect: build_failed/load_inline_misuse
# says: cpp_sources
from torch.utils import cpp_extension

CUDA = """
__global__ void f(float* x) { x[threadIdx.x] *= 2.0f; }
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = cpp_extension.load_inline(  # HERE
            name="only_cuda",
            cuda_sources=CUDA,
            functions=["f"],
        )

    def forward(self, x):
        return self.kernels.f(x)


# %% bound_inside_a_namespace
# fault: the function is inside a namespace, and bound without it
# problem: softmax
# expect: cpu build_failed/missing_binding
# says: 'row_softmax' was not declared
# base: extension
SOURCE = """
namespace fast {
torch::Tensor row_softmax(torch::Tensor x) {
    auto powers = (x - x.amax(1, true)).exp();
    return powers / powers.sum(1, true);
}
}
"""


def __init__(self):
    super().__init__()
    self.ops = load_inline(name="fast_softmax", cpp_sources=SOURCE, functions="row_softmax")  # HERE


def forward(self, x):
    return self.ops.row_softmax(x)


# %% bound_under_another_name
# fault: functions= names the kernel, and not the function that launches it
# expect: cpu build_failed/missing_binding
# says: 'leaky_relu_kernel' was not declared
# base: extension
CPP = """
torch::Tensor leaky_relu(torch::Tensor x) {
    return torch::where(x > 0, x, 0.01 * x);
}
"""


ops = load_inline(
    name="leaky_named",
    cpp_sources=CPP,
    functions=["leaky_relu_kernel"],  # HERE
)


def forward(self, x):
    return ops.leaky_relu_kernel(x)


# %% bound_without_prototype
# fault: the function lives in cuda_sources, and cpp_sources has no prototype of it
# problem: gelu_tanh
# expect: build_failed/missing_binding
# says: prototype
# needs: nvcc
import torch

CUDA = """
__global__ void nothing(float* out) { out[0] = 0.0f; }
void gelu_forward(long out) { nothing<<<1, 1>>>(reinterpret_cast<float*>(out)); }
"""

names = ["gelu_forward"]  # HERE
ops = load_inline(
    name="gelu_hidden", cpp_sources="#include <torch/extension.h>", cuda_sources=CUDA, functions=names, no_implicit_headers=True
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.gelu_forward(x)
