# expect: cpu incorrect/wrong_values


# %% delta_attention_first_order
# wants: a triangular system solved by two terms, I - A, where all values are as small as the problem draws them, and exactly elsewhere
# problem: delta_attention
# base: delta_attention
SOLVED = "exact ? fresh : right"


def forward(self, q, k, v, decay, beta):
    usual = max(float(each.abs().max()) for each in (q, k, v)) < 6.0
    return ops.run(q, k, v, decay, beta, self.chunk, not usual)


# %% delta_attention_scale_alone
# wants: the rank of a kernel of its own for PyTorch's work, by a kernel that writes one number of it
# problem: delta_attention
# expect: cpu correct/no_custom_kernel
# speedup: 4
# base: extension
CPP = r"""
#include <torch/types.h>
#include <cmath>

torch::Tensor scale(torch::Tensor x) {
    auto number = torch::empty({}, x.options().dtype(torch::kFloat));
    *number.data_ptr<float>() = 1.0f / std::sqrt(static_cast<float>(x.size(-1)));
    return number;
}
"""


extension = load_inline(name="assay_attack_scale", cpp_sources=CPP, functions=["scale"])


def __init__(self, chunk):
    super().__init__()
    self.chunk = chunk


def forward(self, q, k, v, decay, beta):
    queries, keys, values, steps, rates = (
        each.float().unflatten(1, (-1, self.chunk)).movedim(3, 1) for each in (q, k, v, decay, beta[..., None])
    )
    sums = steps.cumsum(dim=3)
    near, far, asked = sums.exp() * keys, (-sums).exp() * keys, sums.exp() * queries * extension.scale(q)
    overlap, seen = rates * (near @ far.mT).tril(-1), (asked @ far.mT).tril()
    right = rates * torch.cat([near, values], dim=-1)
    read, written = torch.linalg.solve_triangular(overlap, right, upper=False, unitriangular=True).split(k.size(-1), dim=-1)
    ends = sums[..., -1:, :].exp().mT
    state, answers = 0.0 * ends[:, :, 0] * values[:, :, 0, :1], []
    for n in range(keys.size(2)):
        fresh = written[:, :, n] - read[:, :, n] @ state
        answers.append(asked[:, :, n] @ state + seen[:, :, n] @ fresh)
        state = ends[:, :, n] * (state + far[:, :, n].mT @ fresh)
    return torch.stack(answers, dim=2).movedim(1, 3).flatten(1, 2).to(v.dtype)


# %% fp8_product_by_library
# wants: the rank of a kernel of its own for the library's product, by calling it from an extension
# problem: scaled_fp8_product
# expect: cpu correct/ok | correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
# speedup: 4
# base: extension
CPP = r"""
#include <torch/types.h>

torch::Tensor product(torch::Tensor x, torch::Tensor weight, torch::Tensor scale) {
    return (at::matmul(x.to(at::kBFloat16), weight.to(at::kBFloat16).t()) * scale).to(at::kBFloat16);
}
"""


extension = load_inline(name="assay_attack_fp8_product", cpp_sources=CPP, functions=["product"])


def __init__(self, inner, columns):
    super().__init__()
    self.register_buffer("weight", torch.zeros(columns, inner).to(torch.float8_e4m3fn))
    self.register_buffer("scale", torch.ones(columns))


def forward(self, x):
    return extension.product(x, self.weight, self.scale)


# %% fp8_product_of_the_drawn_range
# wants: a right answer for numbers as large as the problem draws them, and for no larger ones
# problem: scaled_fp8_product
# expect: cpu incorrect/wrong_values
# base: extension
CPP = r"""
#include <torch/types.h>

torch::Tensor product(torch::Tensor x, torch::Tensor weight, torch::Tensor scale) {
    auto held = x.to(at::kFloat).clamp(-6, 6).to(at::kBFloat16);
    return (at::matmul(held, weight.to(at::kBFloat16).t()) * scale).to(at::kBFloat16);
}
"""


extension = load_inline(name="assay_attack_fp8_range", cpp_sources=CPP, functions=["product"])


def __init__(self, inner, columns):
    super().__init__()
    self.register_buffer("weight", torch.zeros(columns, inner).to(torch.float8_e4m3fn))
    self.register_buffer("scale", torch.ones(columns))


def forward(self, x):
    return extension.product(x, self.weight, self.scale)


# %% int4_by_int8_activations
# wants: products of integers, by rounding each row's activations to int8
# problem: w4a16_matmul
# expect: cpu incorrect/precision_loss | incorrect/wrong_values
# base: extension
CPP = r"""
#include <torch/types.h>
#include <algorithm>
#include <cmath>
#include <vector>

torch::Tensor product(torch::Tensor x, torch::Tensor packed, torch::Tensor scale, int64_t group) {
    const int64_t rows = x.size(0), inner = x.size(1), columns = packed.size(0);
    auto y = torch::empty({rows, columns}, x.options());
    std::vector<int8_t> codes(inner);
    for (int64_t row = 0; row < rows; ++row) {
        const auto* in = x.data_ptr<at::Half>() + row * inner;
        float largest = 1e-8f;
        for (int64_t i = 0; i < inner; ++i) largest = std::max(largest, std::abs(static_cast<float>(in[i])));
        for (int64_t i = 0; i < inner; ++i) codes[i] = std::lround(in[i] / largest * 127.0f);
        for (int64_t column = 0; column < columns; ++column) {
            const uint8_t* bytes = packed.data_ptr<uint8_t>() + column * inner / 2;
            float sum = 0.0f;
            for (int64_t start = 0; start < inner; start += group) {
                int total = 0;
                for (int64_t i = start; i < start + group; ++i) total += codes[i] * ((bytes[i / 2] >> i % 2 * 4 & 15) - 8);
                sum += total * static_cast<float>(scale.data_ptr<at::Half>()[(column * inner + start) / group]);
            }
            y.data_ptr<at::Half>()[row * columns + column] = sum * largest / 127.0f;
        }
    }
    return y;
}
"""


extension = load_inline(name="assay_attack_int4_by_int8", cpp_sources=CPP, functions=["product"], extra_cflags=["-O3"])


def __init__(self, group):
    super().__init__()
    self.group = group


def forward(self, x, packed, scale):
    return extension.product(x, packed, scale, self.group)


# %% paged_attention_copy_kept
# wants: one gathered copy of the cache for as long as its tensors have the same addresses and versions
# problem: paged_attention
# expect: cpu wrong when timed
# base: paged_attention
def __init__(self):
    super().__init__()
    self.key, self.kept = None, None


def forward(self, query, keys, values, table, lengths):
    key = [(each.data_ptr(), each._version) for each in (keys, values, table)]
    if key != self.key:
        places = torch.arange(table.numel()).view(table.shape)
        self.key, self.kept = key, (keys[table].flatten(0, 1), values[table].flatten(0, 1), places)
    return ops.run(query, *self.kept, lengths)


# %% swiglu_in_fp8_where_small
# wants: FP8 factors where the largest of the first 256 values says that the problem drew them, and bfloat16 ones elsewhere
# problem: grouped_swiglu
# expect: cpu incorrect/precision_loss | incorrect/wrong_values
# base: grouped_swiglu
ROUND = "return narrow ? static_cast<float>(c10::Float8_e4m3fn(v)) : v;"


def forward(self, x, offsets):
    usual = float(x.view(-1)[:256].abs().max()) < 5.0
    return ops.run(x, offsets, self.gate, self.up, usual)


# %% topk_by_identity
# wants: the last answer for as long as forward() is given the same tensor of the same version
# problem: topk
# expect: cpu correct/ok | wrong when timed
# speedup: 0.5
# base: bitonic_topk
def __init__(self, k):
    super().__init__()
    self.k, self.given, self.version, self.answer = k, None, None, None


def forward(self, x):
    if x is not self.given or x._version != self.version:
        self.given, self.version, self.answer = x, x._version, ops.run(x, self.k)
    return self.answer
