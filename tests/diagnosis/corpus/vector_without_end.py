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
