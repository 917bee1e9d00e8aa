# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu correct/ok
"""Paged attention in C++ for the CPU: the table is asked for each position, and what lies behind a sequence's end is not read."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <algorithm>
#include <cmath>
#include <vector>

torch::Tensor paged_attention(torch::Tensor query, torch::Tensor keys, torch::Tensor values, torch::Tensor table, torch::Tensor lengths) {
    TORCH_CHECK(query.device().is_cpu() && query.scalar_type() == torch::kHalf, "expected float16 on the CPU");
    for (const torch::Tensor& t : {query, keys, values, table, lengths}) TORCH_CHECK(t.is_contiguous(), "expected contiguous tensors");
    const int64_t heads = query.size(1), width = query.size(2), page = keys.size(1), groups = keys.size(2), pages = table.size(1);
    auto y = torch::empty_like(query);
    const auto *q = query.data_ptr<c10::Half>(), *k = keys.data_ptr<c10::Half>(), *v = values.data_ptr<c10::Half>();
    const int64_t *numbers = table.data_ptr<int64_t>(), *sizes = lengths.data_ptr<int64_t>();
    auto* out = y.data_ptr<c10::Half>();
    const float factor = 1.0f / std::sqrt(static_cast<float>(width));
#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t sequence = 0; sequence < query.size(0); ++sequence) {
        for (int64_t head = 0; head < heads; ++head) {
            const int64_t length = sizes[sequence], first = (sequence * heads + head) * width;
            auto at = [&](int64_t position) {
                const int64_t number = numbers[sequence * pages + position / page];
                return ((number * page + position % page) * groups + head / (heads / groups)) * width;
            };
            std::vector<float> weights(length), sums(width);
            float largest = -INFINITY, total = 0.0f;
            for (int64_t position = 0; position < length; ++position) {
                float sum = 0.0f;
                for (int64_t i = 0; i < width; ++i) sum += static_cast<float>(q[first + i]) * static_cast<float>(k[at(position) + i]);
                weights[position] = sum * factor;
                largest = std::max(largest, weights[position]);
            }
            for (int64_t position = 0; position < length; ++position) {
                const float weight = std::exp(weights[position] - largest);
                total += weight;
                for (int64_t i = 0; i < width; ++i) sums[i] += weight * static_cast<float>(v[at(position) + i]);
            }
            for (int64_t i = 0; i < width; ++i) out[first + i] = sums[i] / total;
        }
    }
    return y;
}
"""

extension = load_inline(
    name="assay_paged_attention_cpp_pages",
    cpp_sources=CPP,
    functions=["paged_attention"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        return extension.paged_attention(query, keys, values, table, lengths)
