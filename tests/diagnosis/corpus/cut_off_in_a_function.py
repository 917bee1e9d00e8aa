# fault: the source ends before its function does
# problem: softmax
# expect: cpu build_failed/cpp_compile_error
# says: expected '}' at end of input
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <vector>

std::vector<float> softmax(std::vector<float> x) {
    float total = 0.0f;
    for (float& value : x) {
        total += value;
    return x;
}"""  # HERE
ops = load_inline(name="cut_off", cpp_sources=SOURCE, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.softmax(x)
