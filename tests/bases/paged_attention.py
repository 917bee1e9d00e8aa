# Paged attention of one token for the CPU, in parts of a sequence: each has its own maximum, and they are combined at the end.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/types.h>
#include <algorithm>
#include <cmath>
#include <vector>

constexpr int64_t kPart = 16;

torch::Tensor run(torch::Tensor query, torch::Tensor keys, torch::Tensor values, torch::Tensor table, torch::Tensor lengths) {
    for (const torch::Tensor& t : {query, keys, values, table, lengths}) TORCH_CHECK(t.is_contiguous(), "expected contiguous tensors");
    const int64_t heads = query.size(1), width = query.size(2), page = keys.size(1), groups = keys.size(2);
    auto y = torch::empty_like(query);
    const auto *q = query.data_ptr<at::Half>(), *k = keys.data_ptr<at::Half>(), *v = values.data_ptr<at::Half>();
    auto* out = y.data_ptr<at::Half>();
    const float factor = 1.0f / std::sqrt(static_cast<float>(width));
    for (int64_t line = 0; line < query.size(0) * heads; ++line, q += width, out += width) {
        const int64_t *pages = table.data_ptr<int64_t>() + line / heads * table.size(1), group = line % heads / (heads / groups);
        const int64_t length = lengths.data_ptr<int64_t>()[line / heads], parts = (length + kPart - 1) / kPart;
        std::vector<float> largest(parts, -INFINITY), totals(parts), sums(parts * width);
        for (int64_t part = 0; part < parts; ++part) {
            float scores[kPart];
            const int64_t start = part * kPart, end = std::min(start + kPart, length);
            auto place = [&](int64_t at) { return ((pages[at / page] * page + at % page) * groups + group) * width; };
            for (int64_t at = start; at < end; ++at) {
                float sum = 0.0f;
                for (int64_t i = 0; i < width; ++i) sum += static_cast<float>(q[i]) * static_cast<float>(k[place(at) + i]);
                scores[at - start] = sum * factor;
                largest[part] = std::max(largest[part], sum * factor);
            }
            for (int64_t at = start; at < end; ++at) {
                const float weight = std::exp(scores[at - start] - largest[part]);
                totals[part] += weight;
                for (int64_t i = 0; i < width; ++i) sums[part * width + i] += weight * static_cast<float>(v[place(at) + i]);
            }
        }
        const float most = *std::max_element(largest.begin(), largest.end());
        float total = 0.0f;
        for (int64_t part = 0; part < parts; ++part) total += totals[part] * std::exp(largest[part] - most);
        for (int64_t i = 0; i < width; ++i) {
            float sum = 0.0f;
            for (int64_t part = 0; part < parts; ++part) sum += sums[part * width + i] * std::exp(largest[part] - most);
            out[i] = sum / total;
        }
    }
    return y;
}
"""

ops = load_inline(name="paged_attention", cpp_sources=CPP, functions=["run"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def forward(self, query, keys, values, table, lengths):
        return ops.run(query, keys, values, table, lengths)
