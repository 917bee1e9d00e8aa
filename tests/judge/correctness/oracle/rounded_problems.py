"""References whose answers hang on roundings, each with an honest answer that rounds otherwise, and a wrong one that is near.

An answer takes the reference's module and its inputs. Honest ones compute in float32, and round where the reference does or later.

    python -m tests.judge.correctness.oracle.rounded_problems TARGET COPIES

writes the problems to TARGET/problems, and so many copies of each answer, `honest_…` and `wrong_…`, to TARGET/submissions.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
Answer = Callable[..., Any]
Draw = Callable[[], torch.Tensor]


class Reference(nn.Module):
    """A function as a model, with parameters by name."""

    def __init__(self, function: Answer, parameters: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self._function = function
        for name, value in parameters.items():
            self.register_buffer(name, value)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self._function(self, *inputs)


@dataclass(frozen=True)
class Rounded:
    """One problem with its answers."""

    reference: Answer
    honest: Answer
    wrong: Answer
    draws: tuple[Draw, ...]
    parameters: tuple[tuple[str, Draw], ...] = ()
    rows_independent: bool = False


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Draw:
    return lambda: torch.randn(shape).to(dtype)


def weight(*shape: int, dtype: torch.dtype = torch.float32) -> tuple[tuple[str, Draw], ...]:
    return (("w", lambda: (torch.randn(shape) / shape[-1] ** 0.5).to(dtype)),)


def by(number: float) -> float:
    """The reciprocal in float32."""
    return float(torch.tensor(1.0) / torch.tensor(number))


def changed(answer: Answer, change: Callable[[torch.Tensor], Any], number: int = 0) -> Answer:
    """An answer with one output changed in place."""

    def other(model: Any, *inputs: torch.Tensor) -> Any:
        outputs = answer(model, *inputs)
        change(outputs[number] if isinstance(outputs, tuple) else outputs)
        return outputs

    return other


def scaled_row(factor: float, row: int = 3) -> Callable[[torch.Tensor], None]:
    def scale(output: torch.Tensor) -> None:
        output[row] = (output[row].float() * factor).to(output.dtype)

    return scale


def one_more(output: torch.Tensor) -> None:
    output.view(-1)[5:7] += 1


def int8_rows(_: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = x.abs().amax(1, keepdim=True) / 127
    return (x / scale).round().clamp(-128, 127).to(torch.int8), scale


def int8_by_reciprocal(_: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    largest = x.abs().amax(1, keepdim=True)
    return (x * (127 / largest)).round().clamp(-128, 127).to(torch.int8), largest / 127


def int8_product(quantise: Answer) -> Answer:
    def product(model: Any, x: torch.Tensor) -> Any:
        values, scale = quantise(model, x)
        return (values.float() @ model.w.T) * scale

    return product


def last_of_equal(model: Any, x: torch.Tensor) -> Any:
    return x.shape[1] - 1 - x.flip(1).argmax(1)


def second(model: Any, x: torch.Tensor) -> Any:
    """The right index, but the second of two that differ in the first row where they do."""
    found = x.argmax(1)
    values, order = x.float().topk(2, 1)
    row = int((values[:, 0] != values[:, 1]).nonzero()[0])
    found[row] = order[row, 1]
    return found


def top4(_: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, order = x.topk(4, 1)
    return values, order


def top4_last_of_equal(_: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    order = x.shape[1] - 1 - x.float().flip(1).sort(dim=1, descending=True, stable=True)[1][:, :4]
    return x.gather(1, order), order


def after_relu(answer: Answer) -> Answer:
    return lambda model, x: answer(model, x.relu())


def rounded_scores(model: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    return torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1) @ v


def attention(_: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    return torch.softmax((q @ k.transpose(1, 2)).float() / 5.6, -1).to(q.dtype) @ v


def float_attention(keys: int) -> Answer:
    def answer(_: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        scores = torch.softmax(q.float() @ k.float().transpose(1, 2) / 5.6, -1)
        return (scores[..., :keys] @ v.float()[:, :keys]).to(q.dtype)

    return answer


def mixture(wide: bool) -> Answer:
    def forward(model: Any, x: torch.Tensor) -> Any:
        kind = torch.float32 if wide else x.dtype
        x, gate, experts = x.to(kind), model.g.to(kind), model.w.to(kind)
        weights, chosen = torch.softmax(functional.linear(x, gate), -1).topk(2, -1)
        total = torch.zeros_like(x)
        for number in range(len(experts)):
            row, place = (chosen == number).nonzero(as_tuple=True)
            total.index_add_(0, row, functional.linear(x[row], experts[number]) * weights[row, place][:, None])
        return total.bfloat16()

    return forward


def cache(model: Any, x: torch.Tensor) -> Any:
    """A key cache in half precision, and scores with it."""
    kept = torch.zeros(x.shape[0], 2 * x.shape[1], dtype=torch.bfloat16, device=x.device)
    kept[:, : x.shape[1]] = x
    kept[:, x.shape[1] :].copy_(x @ model.w)
    return kept.float() @ kept.float().T


def float_cache(dtype: torch.dtype) -> Answer:
    def forward(model: Any, x: torch.Tensor) -> Any:
        kept = torch.cat((x.to(dtype).float(), (x @ model.w).to(dtype).float()), 1)
        return kept @ kept.T

    return forward


def autocast(model: Any, x: torch.Tensor) -> Any:
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        return functional.linear(x, model.w).float()


def quantised(dtype: torch.dtype, largest: float) -> Answer:
    return lambda _, x: (x / x.abs().amax(1, keepdim=True) * largest).to(dtype)


def quantised_by_reciprocal(dtype: torch.dtype, largest: float) -> Answer:
    return lambda _, x: (x * (largest / x.abs().amax(1, keepdim=True))).to(dtype)


def fp8_product(model: Any, x: torch.Tensor) -> Any:
    scale = x.abs().amax() / 448
    return ((x / scale).to(E4M3).float() @ model.w.to(E4M3).float()) * scale


def fp8_product_by_reciprocal(model: Any, x: torch.Tensor) -> Any:
    largest = x.abs().amax()
    return ((x * (448 / largest)).to(E4M3).float() @ model.w.to(E4M3).float()) * (largest / 448)


def rms_norm(_: Any, x: torch.Tensor) -> Any:
    return (x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def rms_norm_by_root(_: Any, x: torch.Tensor) -> Any:
    return (x.float() / (x.float().square().sum(-1, keepdim=True) / x.shape[-1] + 1e-6).sqrt()).to(x.dtype)


def nibbles(values: torch.Tensor) -> torch.Tensor:
    codes = values.clamp(-8, 7).to(torch.int8).to(torch.uint8) & 15
    return codes[:, ::2] | (codes[:, 1::2] << 4)


def table(index: Answer) -> Answer:
    return lambda model, x: model.t[index(model, x) + 4096]


def steps(_: Any, x: torch.Tensor) -> Any:
    return torch.floor(x / 0.037).long()


def steps_by_reciprocal(_: Any, x: torch.Tensor) -> Any:
    return torch.floor(x * by(0.037)).long()


def hashed(index: Callable[..., Any]) -> Callable[..., Any]:
    """A bucket for each row's indices."""
    return lambda model, x: ((index(model, x) * 40_503) & 1023).sum(1, dtype=torch.int64) & 255


def counts(model: Any, x: torch.Tensor) -> Any:
    return torch.bincount(torch.bucketize(x.flatten(), model.e), minlength=12)


def counts_by_reciprocal(_: Any, x: torch.Tensor) -> Any:
    return torch.bincount(torch.ceil((x.flatten() + 3) * by(0.6)).clamp(0, 11).long(), minlength=12)


def sampled(_: Any, x: torch.Tensor, u: torch.Tensor) -> Any:
    """A token by inverse transform sampling."""
    return torch.searchsorted(torch.softmax(x, -1).cumsum(-1), u)


def sampled_by_sums(_: Any, x: torch.Tensor, u: torch.Tensor) -> Any:
    weights = torch.exp(x - x.amax(-1, keepdim=True))
    return (weights.cumsum(-1) < u * weights.sum(-1, keepdim=True)).sum(-1, keepdim=True)


HALF = {"f16": torch.float16, "bf16": torch.bfloat16}
WIDER = {"f16": torch.bfloat16, "bf16": E4M3}
"""The next narrower type."""


def products(name: str, *, bias: bool) -> Rounded:
    dtype = HALF[name]

    def reference(model: Any, x: torch.Tensor) -> Any:
        product = x.to(dtype) @ model.w.to(dtype)
        return (product + model.b.to(dtype) if bias else product).float()

    def rounded(kind: torch.dtype) -> Answer:
        def answer(model: Any, x: torch.Tensor) -> Any:
            product = (x.to(kind).float() @ model.w.to(kind).float()).to(kind).float()
            return (product + model.b.to(kind).float()).to(kind).float() if bias else product

        return answer

    parameters = (*weight(128, 96), ("b", normal(96)))
    return Rounded(reference, rounded(dtype), rounded(WIDER[name]), (normal(64, 128),), parameters)


def overflowing(dtype: torch.dtype, largest: float) -> Rounded:
    return Rounded(
        lambda _, x: x * x,
        lambda _, x: (x.float() * x.float()).to(dtype),
        lambda _, x: (x.float() * x.float()).clamp(max=largest).to(dtype),
        (lambda: (torch.randn(9, 257) * 200).to(dtype),),
    )


PROBLEMS: dict[str, Rounded] = {
    "int8 by rows": Rounded(
        int8_rows, int8_by_reciprocal, changed(int8_by_reciprocal, scaled_row(0.99)), (normal(61, 517),), rows_independent=True
    ),
    "int8 by rows, undeclared": Rounded(int8_rows, int8_by_reciprocal, changed(int8_by_reciprocal, one_more), (normal(61, 517),)),
    "int8 product": Rounded(
        int8_product(int8_rows), int8_product(int8_by_reciprocal), lambda model, x: x @ model.w.T, (normal(256, 128),), weight(128, 128)
    ),
    "uint8 with a zero point": Rounded(
        lambda _, x: (x / 0.03 + 128).round().clamp(0, 255).to(torch.uint8),
        lambda _, x: (x * by(0.03) + 128).round().clamp(0, 255).to(torch.uint8),
        lambda _, x: (x * by(0.03) + 128.02).round().clamp(0, 255).to(torch.uint8),
        (normal(100, 517),),
    ),
    "uint16": Rounded(
        lambda _, x: (x.abs() / 0.001).to(torch.int32).to(torch.uint16),
        lambda _, x: (x.abs() * by(0.001)).to(torch.int32).to(torch.uint16),
        lambda _, x: (x.abs() * by(0.001) + 0.01).to(torch.int32).to(torch.uint16),
        (normal(64, 517),),
    ),
    "int4 in bytes": Rounded(
        lambda _, x: nibbles((x / 0.3).round()),
        lambda _, x: nibbles((x * by(0.3)).round()),
        lambda _, x: nibbles((x * by(0.3)).floor()),
        (normal(64, 516),),
    ),
    "index by steps": Rounded(steps, steps_by_reciprocal, changed(steps_by_reciprocal, one_more), (normal(100, 517),)),
    "hashes": Rounded(hashed(steps), hashed(steps_by_reciprocal), changed(hashed(steps_by_reciprocal), one_more), (normal(2048, 16),)),
    "table by steps": Rounded(
        table(steps),
        table(steps_by_reciprocal),
        changed(table(steps_by_reciprocal), scaled_row(0.5)),
        (normal(100, 517),),
        (("t", normal(8192)),),
    ),
    "counts of bins": Rounded(
        counts,
        counts_by_reciprocal,
        changed(counts_by_reciprocal, one_more),
        (normal(500, 517),),
        (("e", lambda: torch.linspace(-3, 3, 11)),),
    ),
    "argmax of bfloat16": Rounded(lambda _, x: x.argmax(1), last_of_equal, second, (normal(256, 4096, dtype=torch.bfloat16),)),
    "argmax of products": Rounded(
        lambda model, x: (x @ model.w).argmax(1),
        lambda model, x: (x.float() @ model.w.float()).argmax(1),
        lambda model, x: (x.to(E5M2).float() @ model.w.float()).argmax(1),
        (normal(256, 128, dtype=torch.bfloat16),),
        weight(128, 512, dtype=torch.bfloat16),
    ),
    "top 4 of float16": Rounded(
        top4, top4_last_of_equal, changed(top4_last_of_equal, one_more, 1), (normal(256, 4096, dtype=torch.float16),)
    ),
    "top 4 with zeros": Rounded(
        after_relu(top4), after_relu(top4_last_of_equal), after_relu(changed(top4_last_of_equal, one_more, 1)), (normal(64, 12),)
    ),
    "rounded scores": Rounded(
        lambda _, q, k, v: functional.scaled_dot_product_attention(q, k, v),
        rounded_scores,
        lambda model, q, k, v: rounded_scores(model, q.to(E4M3).half(), k, v),
        (normal(8, 256, 64, dtype=torch.float16),) * 3,
    ),
    "ranks": Rounded(
        lambda _, x: x.argsort(dim=1),
        lambda _, x: x.shape[1] - 1 - x.flip(1).float().sort(dim=1, stable=True)[1],
        lambda _, x: (x.float() + 0.01 * torch.sin(1e3 * x.float())).argsort(dim=1),
        (normal(32, 200, dtype=torch.float16),),
    ),
    "sampling": Rounded(
        sampled, sampled_by_sums, changed(sampled_by_sums, one_more), (normal(512, 1000), lambda: torch.rand(512, 1)), rows_independent=True
    ),
    "FP8, e4m3": Rounded(
        quantised(E4M3, 448.0),
        quantised_by_reciprocal(E4M3, 448.0),
        changed(quantised_by_reciprocal(E4M3, 448.0), scaled_row(0.9)),
        (normal(64, 517),),
    ),
    "FP8, e5m2": Rounded(
        quantised(E5M2, 57344.0),
        quantised_by_reciprocal(E5M2, 57344.0),
        changed(quantised_by_reciprocal(E5M2, 57344.0), scaled_row(0.8)),
        (normal(64, 517),),
    ),
    "FP8 product": Rounded(fp8_product, fp8_product_by_reciprocal, lambda model, x: x @ model.w, (normal(128, 256),), weight(256, 128)),
    "bfloat16 inside": products("bf16", bias=False),
    "float16 inside, with a bias": products("f16", bias=True),
    "bfloat16 inside, with a bias": products("bf16", bias=True),
    "attention in float16": Rounded(
        attention, float_attention(65), float_attention(64), tuple(normal(4, 65, 32, dtype=torch.float16) for _ in range(3))
    ),
    "attention in bfloat16": Rounded(
        attention, float_attention(65), float_attention(60), tuple(normal(4, 65, 32, dtype=torch.bfloat16) for _ in range(3))
    ),
    "norm in bfloat16": Rounded(
        rms_norm,
        rms_norm_by_root,
        changed(rms_norm_by_root, scaled_row(0.95)),
        (normal(64, 512, dtype=torch.bfloat16),),
        rows_independent=True,
    ),
    "mixture of experts": Rounded(
        mixture(wide=False),
        mixture(wide=True),
        changed(mixture(wide=True), scaled_row(0.7)),
        (normal(256, 128, dtype=torch.bfloat16),),
        (("g", lambda: (torch.randn(8, 128) / 11).bfloat16()), ("w", lambda: (torch.randn(8, 128, 128) / 11).bfloat16())),
    ),
    "key cache": Rounded(cache, float_cache(torch.bfloat16), float_cache(E4M3), (normal(64, 128),), weight(128, 128)),
    "autocast": Rounded(
        autocast,
        lambda model, x: x @ model.w.T,
        lambda model, x: x.to(E4M3).float() @ model.w.to(E4M3).float().T,
        (normal(64, 128),),
        weight(96, 128),
    ),
    "mask by a threshold": Rounded(
        lambda _, x: (x * 1.1 / 0.3) > 0.5,
        lambda _, x: (x * (1.1 / 0.3)) > 0.5,
        lambda _, x: (x * (1.1 / 0.3)) > 0.5001,
        (normal(640, 1280),),
    ),
    "overflow of float16": overflowing(torch.float16, 65504.0),
    "overflow of float32": Rounded(
        lambda _, x: torch.exp(x),
        lambda _, x: torch.exp2(x.double() * 1.4426950408889634).float(),
        lambda _, x: torch.exp(x).clamp(max=3e38),
        (lambda: torch.randn(4, 515) * 60,),
    ),
    "mixed operands": Rounded(
        lambda model, x: x @ model.w.to(x.dtype),
        lambda model, x: (x.float() @ model.w.to(x.dtype).float()).to(x.dtype),
        lambda model, x: (x.to(E4M3).float() @ model.w.to(x.dtype).float()).to(x.dtype),
        (normal(64, 128, dtype=torch.bfloat16),),
        weight(128, 96),
    ),
}


FILE = """{head}{source}

PROBLEM = PROBLEMS[{name!r}]
ASSAY = {{"rows_independent": PROBLEM.rows_independent}}


class {model}(Reference):
    def __init__(self):
        super().__init__(PROBLEM.{answer}, {{name: draw() for name, draw in PROBLEM.parameters}})


def get_inputs():
    return [draw() for draw in PROBLEM.draws]


def get_init_inputs():
    return []
"""


def write(target: Path, copies: int) -> None:
    """Write each problem, and so many copies of each of its answers, as files that stand alone."""
    source = Path(__file__).read_text(encoding="utf-8").split("\n\nFILE = ")[0]
    for folder in ("problems", "submissions"):
        (target / folder).mkdir(parents=True)
    for name in PROBLEMS:
        problem = "".join(letter if letter.isalnum() else "_" for letter in name)
        text = FILE.format(head="", source=source, name=name, model="Model", answer="reference")
        (target / "problems" / f"{problem}.py").write_text(text, encoding="utf-8")
        for answer in ("honest", "wrong"):
            for copy in range(copies):
                head = f"# problem: {problem}\n# copy: {copy}\n"
                text = FILE.format(head=head, source=source, name=name, model="ModelNew", answer=answer)
                (target / "submissions" / f"{answer}_{problem}_{copy}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
