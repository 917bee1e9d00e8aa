# fault: std::sort over a list fails deep in the library's header
# problem: topk
# expect: cpu build_failed/cpp_compile_error
# says: no match for 'operator-'
# base: extension
TOPK = r"""
#include <algorithm>
#include <list>

std::list<float> largest(std::list<float> values, int k) {
    std::sort(values.begin(), values.end());  // HERE
    values.resize(k);
    return values;
}
"""


def __init__(self, k):
    super().__init__()
    self.ops = load_inline(name="sorted_lists", cpp_sources=TOPK, no_implicit_headers=True)


def forward(self, x):
    return self.ops.largest(x)
