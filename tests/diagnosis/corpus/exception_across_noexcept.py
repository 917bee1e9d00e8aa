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
