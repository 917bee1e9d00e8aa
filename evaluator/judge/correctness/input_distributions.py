"""How drawn inputs are changed for the rounds: the problem's own distribution and others, and which of them its rounds use.

Each of the others changes the floating-point tensors of a draw and leaves integers alone: a kernel that forgets the softmax's maximum is
found by `shifted`, a leaky ReLU that is the identity by `signs`, an accumulator in half precision by `wide`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.judge.correctness.tolerance import is_exact
from evaluator.problem.problem import ProblemCase
from evaluator.worker.structure import tensors_of

MIN_ROUNDS = 5

Change = Callable[[torch.Tensor, torch.Generator], None]
"""Changes a floating-point tensor in place."""


@dataclass(frozen=True)
class Distribution:
    """One way to change what a problem draws."""

    name: str
    meaning: str
    change: Change


def _own(_tensor: torch.Tensor, _generator: torch.Generator) -> None:
    return


def _signs(tensor: torch.Tensor, generator: torch.Generator) -> None:
    signs = torch.empty_like(tensor).bernoulli_(0.5, generator=generator)
    tensor.mul_(signs.mul_(2).sub_(1))


def _wide(tensor: torch.Tensor, generator: torch.Generator) -> None:
    # Six decades in float32; float16 ends at 65504, and products of two such inputs have to stay below that.
    low, high = (-2.0, 0.5) if tensor.dtype == torch.float16 else (-4.0, 2.0)
    exponent = torch.empty_like(tensor).uniform_(low, high, generator=generator)
    tensor.mul_(torch.pow(10.0, exponent, out=exponent))


def _ties(tensor: torch.Tensor, _generator: torch.Generator) -> None:
    tensor.mul_(4).round_().div_(4)


def _shifted(tensor: torch.Tensor, _generator: torch.Generator) -> None:
    # exp(100) overflows float32, exp(12) float16.
    tensor.add_(12.0 if tensor.dtype == torch.float16 else 100.0)


SPIKE = 64.0


def _special(tensor: torch.Tensor, _generator: torch.Generator) -> None:
    """Of every eight rows one of zeros, one constant, one ascending, one with a single large element."""
    if tensor.dim() < 2 or tensor.numel() == 0:
        return
    rows = tensor.view(len(tensor), -1)
    rows[0::8] = 0.0
    rows[1::8] = 0.5
    rows[2::8] = torch.linspace(0.0, 1.0, rows.shape[1], dtype=tensor.dtype, device=tensor.device)
    rows[3::8, rows.shape[1] // 3] = SPIKE


DISTRIBUTIONS = {
    distribution.name: distribution
    for distribution in (
        Distribution("own", "as get_inputs() draws them", _own),
        Distribution("signs", "every sign drawn anew", _signs),
        Distribution("wide", "magnitudes over six decades (float16: over two and a half)", _wide),
        Distribution("ties", "rounded to quarters, so that many elements are equal", _ties),
        Distribution("shifted", "100 added (float16: 12), so that exp() overflows", _shifted),
        Distribution("special", "rows of zeros, constant rows, ascending rows, rows with one large element", _special),
    )
}


def changed(arguments: Sequence[Any], name: str, seed: int) -> list[Any]:
    """Arguments changed to distribution `name`, their tensors in place where possible."""
    change = DISTRIBUTIONS[name].change
    return [_apply(value, change, seed + position) for position, value in enumerate(arguments)]


def _apply(value: Any, change: Change, seed: int) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        tensor = value.contiguous()
        change(tensor, torch.Generator(tensor.device).manual_seed(seed))
        return tensor
    if type(value) in (list, tuple):
        return type(value)(_apply(item, change, seed + 1000 * (position + 1)) for position, item in enumerate(value))
    if type(value) is dict:
        return {key: _apply(item, change, seed + 1000 * (position + 1)) for position, (key, item) in enumerate(value.items())}
    return value


@dataclass(frozen=True)
class RoundPlan:
    """One round: where its inputs come from, and whether the same are given twice."""

    distribution: str
    twice: bool


TYING = ("ties", "shifted", "special")
"""Distributions in which elements become equal. PyTorch does not say which of two equal ones an argmax names."""


def plan_rounds(case: ProblemCase, arguments: Sequence[Any], expected: Any) -> list[RoundPlan]:
    """The rounds for a problem with inputs and answer like these: first and last its own distribution, between them the others."""
    floating = any(tensor.is_floating_point() for _, tensor in tensors_of(list(arguments)))
    left_out = {"own", *case.problem.declaration.without}
    if any(is_exact(tensor.dtype) for _, tensor in tensors_of(expected)):
        left_out.update(TYING)
    others = [name for name in DISTRIBUTIONS if floating and name not in left_out]
    padding = ["own"] * max(0, MIN_ROUNDS - 2 - len(others))
    return [RoundPlan("own", True), *(RoundPlan(name, False) for name in (*padding, *others)), RoundPlan("own", True)]
