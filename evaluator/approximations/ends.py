"""Variants of sums, means and matrix products without the first or the last of the elements that they add up."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch

from evaluator.judge.correctness.errors.variants.call import Call, Swap
from evaluator.judge.correctness.errors.variants.search import Subject, Variant

REDUCTIONS = ("sum", "mean", "linear", "matmul", "mm", "bmm")
WIDTHS = (4, 8, 32, 256)
"""Elements that vectors, warps and blocks take at a time: what a last, incomplete one would take may be left out."""
MOST_VARIANTS = 8


def left_out(subject: Subject) -> Iterator[Variant]:
    return islice(_all(subject), MOST_VARIANTS)


def _all(subject: Subject) -> Iterator[Variant]:
    for name in subject.called(*REDUCTIONS):
        lengths = dict.fromkeys(length for call in subject.of(name) if (length := _length(call)) > 1)
        for length in lengths:
            yield Variant(f"the first of {length} elements left out of {name}", {name: _without(length, slice(0, 1))})
            for count in sorted({1} | {length % width for width in WIDTHS if 0 < length % width < length}):
                last = "the last" if count == 1 else f"the last {count}"
                yield Variant(f"{last} of {length} elements left out of {name}", {name: _without(length, slice(length - count, length))})


def _dimensions(call: Call) -> tuple[int, ...] | None:
    """The dimensions of the first argument that are added up; None if unknown."""
    if not isinstance(call.first, torch.Tensor) or call.first.dim() == 0 or "axis" in call.options:
        return None
    found = call.value(1, "dim") if call.name in ("sum", "mean") else -1
    if found is None:
        return tuple(range(call.first.dim()))
    found = (found,) if type(found) is int else found
    return tuple(found) if isinstance(found, (tuple, list)) and len(found) == 1 else None


def _length(call: Call) -> int:
    """Number of elements that are added up; 0 if unknown."""
    dimensions = _dimensions(call)
    return math.prod(call.first.shape[dimension] for dimension in dimensions) if dimensions else 0


def _without(length: int, left: slice) -> Swap:
    """The calls of this length with zeros for these elements."""

    def swapped(call: Call) -> Any:
        if _length(call) != length:
            return call.run()
        values, dimensions = call.first.clone(memory_format=torch.contiguous_format), _dimensions(call) or ()
        added = values.movedim(dimensions[0], -1) if len(dimensions) == 1 else values.view(-1)
        added[..., left] = 0
        return call.changed(0, "input", values).run()

    return swapped
