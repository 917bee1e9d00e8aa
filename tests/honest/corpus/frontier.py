# problem: scaled_fp8_product
# expect: cpu correct/ok


# %% scaled_fp8_product
"""A product of FP8 numbers: each output channel has a scale, and the answer is in bfloat16."""

rows = 4096
inner = 4096
columns = 4096

ASSAY = {
    "description": "FP8 matrix product with a scale for each output channel",
    "cases": {"full": {}, "small": {"rows": 37, "inner": 131, "columns": 77}},
}


class Model(nn.Module):
    def __init__(self, inner: int, columns: int) -> None:
        super().__init__()
        weight = torch.randn(columns, inner)
        scale = weight.abs().amax(dim=1) / 448.0
        self.register_buffer("weight", (weight / scale[:, None]).to(torch.float8_e4m3fn))
        self.register_buffer("scale", scale)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float8_e4m3fn (rows, inner) to bfloat16 (rows, columns). Products of FP8 numbers are exact in bfloat16 operands."""
        product = x.to(torch.bfloat16) @ self.weight.to(torch.bfloat16).t()
        return (product * self.scale).to(torch.bfloat16)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner).to(torch.float8_e4m3fn)]


def get_init_inputs() -> list[int]:
    return [inner, columns]


# %% delta_attention
"""Kimi delta attention by chunks: a linear attention whose state forgets by channel, and takes in what it does not foretell yet.

Per token: the state decays, and is then moved towards the token's value along its key. In a chunk, that is a triangular system.
"""

batch_size = 2
length = 1024
heads = 8
width = 128
chunk = 64

ASSAY = {
    "description": "Chunked delta attention with a decay for each channel, in bfloat16",
    "source": "Kimi Team, Kimi Linear, 2025",
    "cases": {"full": {}, "small": {"batch_size": 1, "length": 64, "heads": 2, "width": 32, "chunk": 16}},
}


class Model(nn.Module):
    def __init__(self, chunk: int) -> None:
        super().__init__()
        self.chunk = chunk

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        """Three of shape (batch_size, length, heads, width), the logarithms of the decay in it, and (batch_size, length, heads)."""
        wide = torch.promote_types(v.dtype, torch.float32)
        chunks = (each.to(wide).unflatten(1, (-1, self.chunk)).movedim(3, 1) for each in (q, k, v, decay, beta[..., None]))
        queries, keys, values, steps, rates = chunks
        sums = steps.cumsum(dim=3)
        future = torch.ones(self.chunk, self.chunk, dtype=torch.bool, device=v.device).triu(1)[..., None]
        fade = (sums[..., :, None, :] - sums[..., None, :, :]).masked_fill(future, -torch.inf).exp()
        overlap = rates * torch.einsum("...id,...jd,...ijd->...ij", keys, keys, fade).tril(-1)
        seen = torch.einsum("...id,...jd,...ijd->...ij", queries, keys, fade)
        right = rates * torch.cat([sums.exp() * keys, values], dim=-1)
        read, written = torch.linalg.solve_triangular(overlap, right, upper=False, unitriangular=True).split(keys.size(-1), dim=-1)
        state = torch.zeros_like(keys[:, :, 0, 0, :, None] * values[:, :, 0, 0, None, :])
        answers = []
        for n in range(keys.size(2)):
            fresh = written[:, :, n] - read[:, :, n] @ state
            answers.append((queries[:, :, n] * sums[:, :, n].exp()) @ state + seen[:, :, n] @ fresh)
            last = sums[:, :, n, -1:]
            state = last.exp().transpose(-1, -2) * state + ((last - sums[:, :, n]).exp() * keys[:, :, n]).transpose(-1, -2) @ fresh
        return (torch.stack(answers, dim=2) * q.size(-1) ** -0.5).movedim(1, 3).flatten(1, 2).to(v.dtype)


def get_inputs() -> list[torch.Tensor]:
    q, k, v = (torch.randn(batch_size, length, heads, width) for _ in range(3))
    decay = nn.functional.logsigmoid(torch.randn(batch_size, length, heads, width) + 3.0)
    beta = torch.rand(batch_size, length, heads)
    q, k = (nn.functional.normalize(each, dim=-1) for each in (q, k))
    return [q.bfloat16(), k.bfloat16(), v.bfloat16(), decay, beta.bfloat16()]


def get_init_inputs() -> list[int]:
    return [chunk]


# %% grouped_swiglu
"""Gated linear units of experts: rows are sorted by expert, and offsets say where the rows of each begin."""

from itertools import pairwise

rows = 16384
width = 2048
hidden = 1024
experts = 64

ASSAY = {
    "description": "Grouped matrix products with a SiLU gate, in bfloat16",
    "dtype": "bfloat16",
    "cases": {"full": {}, "small": {"rows": 45, "width": 67, "hidden": 51, "experts": 5}},
}


class Model(nn.Module):
    def __init__(self, experts: int, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.randn(experts, width, hidden) / width**0.5)
        self.up = nn.Parameter(torch.randn(experts, width, hidden) / width**0.5)

    def forward(self, x: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """(rows, width) and int32 (experts + 1,) to (rows, hidden); an expert may have no rows."""
        parts = [x[start:end] for start, end in pairwise(offsets.tolist())]
        gated = (nn.functional.silu(part @ gate) * (part @ up) for part, gate, up in zip(parts, self.gate, self.up, strict=True))
        return torch.cat(list(gated))


def get_inputs() -> list[torch.Tensor]:
    cuts = torch.randint(0, rows + 1, (experts - 1,)).sort().values
    offsets = nn.functional.pad(nn.functional.pad(cuts, (1, 0)), (0, 1), value=rows)
    return [torch.randn(rows, width), offsets.to(torch.int32)]


def get_init_inputs() -> list[int]:
    return [experts, width, hidden]


# %% delta_attention_by_substitution
# form: solves a chunk's triangular system token by token, in float32 throughout
# problem: delta_attention
# base: delta_attention


# %% grouped_swiglu_in_float32
# form: sums in float32 and rounds once, where the reference rounds each product
# problem: grouped_swiglu
# base: grouped_swiglu


# %% int4_factored
# form: takes scale and zero out of a group's sum: the codes' sum, less eight times the activations' sum
# problem: w4a16_matmul
# base: extension
CPP = r"""
#include <torch/types.h>
#include <vector>

torch::Tensor product(torch::Tensor x, torch::Tensor packed, torch::Tensor scale, int64_t group) {
    TORCH_CHECK(x.is_contiguous() && packed.is_contiguous() && scale.is_contiguous(), "expected contiguous tensors");
    const int64_t rows = x.size(0), inner = x.size(1), columns = packed.size(0), groups = inner / group;
    auto y = torch::empty({rows, columns}, x.options());
    const auto* scales = scale.data_ptr<at::Half>();
    for (int64_t row = 0; row < rows; ++row) {
        const auto* in = x.data_ptr<at::Half>() + row * inner;
        std::vector<float> given(in, in + inner), sums(groups);
        for (int64_t i = 0; i < inner; ++i) sums[i / group] += given[i];
        for (int64_t column = 0; column < columns; ++column) {
            const uint8_t* bytes = packed.data_ptr<uint8_t>() + column * inner / 2;
            float total = 0.0f;
            for (int64_t at = 0; at < groups; ++at) {
                float sum = 0.0f;
                for (int64_t i = at * group; i < (at + 1) * group; i += 2)
                    sum += (bytes[i / 2] & 15) * given[i] + (bytes[i / 2] >> 4) * given[i + 1];
                total += static_cast<float>(scales[column * groups + at]) * (sum - 8.0f * sums[at]);
            }
            y.data_ptr<at::Half>()[row * columns + column] = total;
        }
    }
    return y;
}
"""


extension = load_inline(name="honest_int4_factored", cpp_sources=CPP, functions=["product"], extra_cflags=["-O3"])


def __init__(self, group: int):
    super().__init__()
    self.group = group


def forward(self, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return extension.product(x, packed, scale, self.group)


# %% paged_attention_in_parts
# form: attends to parts of a sequence, each with a maximum of its own, and combines them
# problem: paged_attention
# base: paged_attention


# %% scaled_fp8_by_table
# form: looks the 256 FP8 numbers up in a table, sums in float32, and rounds once
# base: extension
CPP = r"""
#include <torch/types.h>
#include <vector>

torch::Tensor product(torch::Tensor x, torch::Tensor weight, torch::Tensor scale) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat8_e4m3fn && x.is_contiguous() && weight.is_contiguous(), "expected contiguous FP8");
    const int64_t rows = x.size(0), inner = x.size(1), columns = weight.size(0);
    float number[256];
    for (int code = 0; code < 256; ++code) number[code] = c10::Float8_e4m3fn(code, c10::Float8_e4m3fn::from_bits());
    const auto *left = static_cast<const uint8_t*>(x.data_ptr()), *right = static_cast<const uint8_t*>(weight.data_ptr());
    auto y = torch::empty({rows, columns}, x.options().dtype(torch::kBFloat16));
    std::vector<float> channel(inner);
    for (int64_t column = 0; column < columns; ++column) {
        for (int64_t i = 0; i < inner; ++i) channel[i] = number[right[column * inner + i]];
        for (int64_t row = 0; row < rows; ++row) {
            float sum = 0.0f;
            for (int64_t i = 0; i < inner; ++i) sum += number[left[row * inner + i]] * channel[i];
            y.data_ptr<at::BFloat16>()[row * columns + column] = sum * scale.data_ptr<float>()[column];
        }
    }
    return y;
}
"""


extension = load_inline(name="honest_scaled_fp8", cpp_sources=CPP, functions=["product"], extra_cflags=["-O3"])


def __init__(self, inner: int, columns: int):
    super().__init__()
    self.register_buffer("weight", torch.zeros(columns, inner).to(torch.float8_e4m3fn))
    self.register_buffer("scale", torch.ones(columns))


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.product(x, self.weight, self.scale)


# %% topk_by_bitonic_network
# form: a bitonic network over the row, filled up to a power of two
# problem: topk
# base: bitonic_topk
