# fault: std::accumulate without <numeric>
# problem: sum_reduction
# expect: cpu build_failed/undeclared_identifier
# says: 'accumulate' is not a member of 'std'
from torch import nn
from torch.utils.cpp_extension import load_inline

SUMS = r"""
#include <vector>

float total(const std::vector<float>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0f);  // HERE
}
"""
sums = load_inline(name="sums", cpp_sources=SUMS, no_implicit_headers=True)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        return sums.total(x)
