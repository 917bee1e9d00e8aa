"""Answers that take no work, which a problem must reject.

Each is made from one piece of the output at a time, so no second copy of a large output is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.judge.correctness.compare import OutputPiece
from evaluator.judge.correctness.tolerance import is_exact
from evaluator.worker.nested import tensors

NARROWER = {
    torch.float64: torch.float32,
    torch.float32: torch.float16,
    torch.float16: torch.float8_e4m3fn,
    torch.bfloat16: torch.float8_e5m2,
}
"""The next narrower type of each."""


@dataclass(frozen=True)
class Known:
    """The data for a trivial answer: the inputs, the right output, and the previous right output."""

    inputs: list[Any]
    right: torch.Tensor
    previous: torch.Tensor


Part = Callable[[OutputPiece], torch.Tensor]
"""Makes the answer's rows for a piece of the right output."""


@dataclass(frozen=True)
class TrivialAnswer:
    """An answer that a submission can give without work."""

    meaning: str
    """The fault of a problem that accepts it."""
    make: Callable[[Known], Part | None]
    """Returns None if the answer does not apply to such an output."""


def _filled(value: float) -> Callable[[Known], Part]:
    return lambda _: lambda piece: torch.full_like(piece.reference, value)


def _mean(known: Known) -> Part | None:
    # The mean of a single number is the right answer. The previous output would show that it is predictable.
    if known.right.numel() < 2:
        return None
    wide = torch.complex128 if known.right.is_complex() else torch.float64
    mean = known.right.mean(dtype=wide)
    value = mean.round() if is_exact(known.right.dtype) else mean
    return lambda piece: value.to(piece.reference.dtype).expand_as(piece.reference)


def _copy(known: Known) -> Part | None:
    fitting = [tensor for tensor in tensors(known.inputs) if tensor.shape == known.right.shape]
    if not fitting:
        return None
    return lambda piece: _rows_of(fitting[0], piece).to(piece.reference.dtype)


def _previous(known: Known) -> Part:
    return lambda piece: _rows_of(known.previous, piece)


def _skipped_row(known: Known) -> Part | None:
    """The last row that should not be zero is left zero."""
    if known.right.dim() == 0 or known.right.size(0) < 2:
        return None
    rows = known.right.flatten(1) if known.right.dim() > 1 else known.right[:, None]
    written = (rows != 0).any(dim=1).nonzero()
    if not written.numel():
        return None
    row = int(written[-1])

    def part(piece: OutputPiece) -> torch.Tensor:
        answer = piece.reference.clone()
        if piece.start <= row < piece.start + len(answer):
            answer[row - piece.start] = 0
        return answer

    return part


def _element_off(known: Known) -> Part:
    """The last element is off by the root mean square of the output; an integer by a whole number, at least one."""
    right = known.right
    exact = is_exact(right.dtype)
    scale = float((right.double() if exact else right.abs().double()).square().mean().sqrt())
    step = max(round(scale), 1) if exact else scale

    def part(piece: OutputPiece) -> torch.Tensor:
        answer = piece.reference.clone(memory_format=torch.contiguous_format)
        if piece.start + (len(answer) if answer.dim() else 1) == (right.size(0) if right.dim() else 1):
            last = answer.view(-1)[-1:]
            last.copy_(~last if right.dtype is torch.bool else last + step)
        return answer

    return part


def _half_precision(known: Known) -> Part | None:
    """The output rounded to the next narrower type, if that changes anything."""
    dtype = known.right.dtype
    narrower = NARROWER.get(dtype.to_real() if dtype.is_complex else dtype)
    if narrower is None or torch.equal(_rounded(known.right, narrower), known.right):
        return None
    return lambda piece: _rounded(piece.reference, narrower)


def _rounded(tensor: torch.Tensor, narrower: torch.dtype) -> torch.Tensor:
    if tensor.is_complex():
        return torch.view_as_complex(_rounded(torch.view_as_real(tensor.resolve_conj()), narrower))
    return tensor.to(narrower).to(tensor.dtype)


ANSWERS = {
    "zeros": TrivialAnswer("the output is all zeros", _filled(0)),
    "ones": TrivialAnswer("the output is all ones", _filled(1)),
    "mean": TrivialAnswer("all elements of the output are the same", _mean),
    "copy of an input": TrivialAnswer("there is nothing to compute", _copy),
    "previous output": TrivialAnswer("the output does not depend on the inputs", _previous),
    "one row skipped": TrivialAnswer(
        "a row is too small compared with the others; declare `rows_independent` if rows are independent", _skipped_row
    ),
    "one element off": TrivialAnswer("errors as large as the output itself are tolerated", _element_off),
    "half precision": TrivialAnswer("the tolerance accepts the next narrower type", _half_precision),
}
"""The answers by name, in the order of reports."""


def _rows_of(tensor: torch.Tensor, piece: OutputPiece) -> torch.Tensor:
    return tensor[piece.start : piece.start + len(piece.reference)] if tensor.dim() else tensor
