# Delta attention by chunks, for the CPU. SOLVED: what the later tokens of a chunk see of the earlier ones.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOLVED = "fresh"
CPP = r"""
#include <torch/types.h>
#include <cmath>
#include <vector>

// Matrices of one head: rows are tokens.
struct Rows {
    const float* first;
    int64_t step, width;
    const float* operator[](int64_t token) const { return first + token * step; }
};

static float product(const float* a, const float* b, const float* later, const float* earlier, int64_t width) {
    float sum = 0.0f;
    for (int64_t i = 0; i < width; ++i) sum += a[i] * b[i] * std::exp(later[i] - earlier[i]);
    return sum;
}

// One chunk of one head: `state` is (keys' width, values' width), `sums` is room for the summed decay.
static void chunk(Rows q, Rows k, Rows v, Rows decay, Rows beta, float* out, float* state, int64_t tokens, float scale, bool exact) {
    const int64_t width = k.width, values = v.width;
    std::vector<float> sums(tokens * width), right(tokens * values), fresh(tokens * values);
    for (int64_t t = 0; t < tokens; ++t) {
        float* sum = &sums[t * width];
        for (int64_t i = 0; i < width; ++i) sum[i] = decay[t][i] + (t ? sum[i - width] : 0.0f);
        for (int64_t j = 0; j < values; ++j) right[t * values + j] = v[t][j];
        for (int64_t i = 0; i < width; ++i)
            for (int64_t j = 0; j < values; ++j) right[t * values + j] -= std::exp(sum[i]) * k[t][i] * state[i * values + j];
        for (int64_t j = 0; j < values; ++j) fresh[t * values + j] = right[t * values + j] *= beta[t][0];
        for (int64_t s = 0; s < t; ++s) {
            const float share = beta[t][0] * product(k[t], k[s], sum, &sums[s * width], width);
            for (int64_t j = 0; j < values; ++j) fresh[t * values + j] -= share * (SOLVED)[s * values + j];
        }
        float* answer = out + t * v.step;
        for (int64_t j = 0; j < values; ++j) answer[j] = 0.0f;
        for (int64_t i = 0; i < width; ++i)
            for (int64_t j = 0; j < values; ++j) answer[j] += scale * q[t][i] * std::exp(sum[i]) * state[i * values + j];
        for (int64_t s = 0; s <= t; ++s) {
            const float share = scale * product(q[t], k[s], sum, &sums[s * width], width);
            for (int64_t j = 0; j < values; ++j) answer[j] += share * fresh[s * values + j];
        }
    }
    const float* last = &sums[(tokens - 1) * width];
    for (int64_t i = 0; i < width; ++i)
        for (int64_t j = 0; j < values; ++j) {
            state[i * values + j] *= std::exp(last[i]);
            for (int64_t s = 0; s < tokens; ++s)
                state[i * values + j] += k[s][i] * std::exp(last[i] - sums[s * width + i]) * fresh[s * values + j];
        }
}

torch::Tensor run(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor decay, torch::Tensor beta, int64_t size, bool exact) {
    const auto kind = v.scalar_type();
    for (torch::Tensor* each : {&q, &k, &v, &decay, &beta}) *each = each->to(torch::kFloat).contiguous();
    const int64_t length = k.size(1), heads = k.size(2), width = k.size(3), values = v.size(3);
    auto answer = torch::empty_like(v);
    auto rows = [&](const torch::Tensor& t, int64_t batch, int64_t start, int64_t head, int64_t columns) {
        return Rows{t.data_ptr<float>() + ((batch * length + start) * heads + head) * columns, heads * columns, columns};
    };
    for (int64_t batch = 0; batch < k.size(0); ++batch)
        for (int64_t head = 0; head < heads; ++head) {
            std::vector<float> state(width * values);
            for (int64_t start = 0; start < length; start += size)
                chunk(rows(q, batch, start, head, width), rows(k, batch, start, head, width), rows(v, batch, start, head, values),
                      rows(decay, batch, start, head, width), rows(beta, batch, start, head, 1),
                      answer.data_ptr<float>() + ((batch * length + start) * heads + head) * values, state.data(), size,
                      1.0f / std::sqrt(static_cast<float>(width)), exact);
        }
    return answer.to(kind);
}
""".replace("SOLVED", SOLVED)

ops = load_inline(name="delta_attention", cpp_sources=CPP, functions=["run"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def __init__(self, chunk):
        super().__init__()
        self.chunk = chunk

    def forward(self, q, k, v, decay, beta):
        return ops.run(q, k, v, decay, beta, self.chunk, True)
