# The largest k of each row and their places, for the CPU, by a bitonic network over the row.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/types.h>
#include <cmath>
#include <utility>
#include <vector>

using Entry = std::pair<float, int64_t>;

static bool comes_before(const Entry& a, const Entry& b) { return a.first > b.first || (a.first == b.first && a.second < b.second); }

std::tuple<torch::Tensor, torch::Tensor> run(torch::Tensor x, int64_t k) {
    TORCH_CHECK(x.is_contiguous() && x.dim() == 2 && x.scalar_type() == torch::kFloat, "expected a contiguous float32 matrix");
    const int64_t rows = x.size(0), columns = x.size(1);
    int64_t count = 1;
    while (count < columns) count *= 2;
    auto values = torch::empty({rows, k}, x.options());
    auto places = torch::empty({rows, k}, x.options().dtype(torch::kLong));
    for (int64_t row = 0; row < rows; ++row) {
        std::vector<Entry> entries(count, Entry(-INFINITY, count));
        for (int64_t i = 0; i < columns; ++i) entries[i] = {x.data_ptr<float>()[row * columns + i], i};
        for (int64_t size = 2; size <= count; size *= 2)
            for (int64_t step = size / 2; step > 0; step /= 2)
                for (int64_t one = 0; one < count; ++one) {
                    const int64_t other = one ^ step;
                    if (other > one && comes_before(entries[other], entries[one]) == ((one & size) == 0))
                        std::swap(entries[one], entries[other]);
                }
        for (int64_t i = 0; i < k; ++i) {
            values.data_ptr<float>()[row * k + i] = entries[i].first;
            places.data_ptr<int64_t>()[row * k + i] = entries[i].second;
        }
    }
    return {values, places};
}
"""

ops = load_inline(name="bitonic_topk", cpp_sources=CPP, functions=["run"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        return ops.run(x, self.k)
