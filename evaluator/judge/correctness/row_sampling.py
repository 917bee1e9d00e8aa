"""Samples of rows. Where a problem's rows are independent, some of them are a smaller instance of the problem."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from evaluator.judge.correctness.tolerance import has_row_scale, is_exact
from evaluator.worker.structure import tensors_of

SAMPLE_ELEMENTS = 1 << 26
"""Of a tensor with more elements than this, rows with so many elements are drawn."""
BLOCKS = 8
"""Number of blocks of neighbouring rows that they are drawn in."""

_random = secrets.SystemRandom()


def common_rows(inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> int | None:
    """How many rows all tensors have, one at the least; None where that differs."""
    tensors = [tensor for _, tensor in tensors_of(list(inputs))]
    rows = {len(tensor) if tensor.dim() else -1 for tensor in (*tensors, *outputs)}
    return None if len(rows) != 1 or min(rows) < 1 else rows.pop()


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The nested value with every tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [mapped(item, change) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


@dataclass(frozen=True)
class Sample:
    """Some rows, in blocks."""

    blocks: tuple[range, ...]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def original(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Where an element of these rows is among all rows."""
        row, *others = index
        return (list(chain(*self.blocks))[row], *others)

    def parts(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Views of these rows."""
        return [tensor[block.start : block.stop] for block in self.blocks]

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy of these rows."""
        return torch.cat(self.parts(tensor))


class Sampler:
    """Draws rows to compare.

    All rows are compared where there are few, where an output is judged on the scale of the whole tensor, and where it is exact.
    """

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor], rows_independent: bool) -> None:
        """For inputs and outputs of these shapes."""
        apart = all(has_row_scale(output.shape, rows_independent) and not is_exact(output.dtype) for output in outputs)
        rows = common_rows(inputs, outputs) if outputs and apart else None
        largest = max((tensor.numel() for _, tensor in tensors_of([*inputs, *outputs])), default=0)
        self._blocks: list[range] = []
        if rows is not None and largest > SAMPLE_ELEMENTS:
            step = max(SAMPLE_ELEMENTS * rows // largest // BLOCKS, 1)
            self._blocks = [range(start, min(start + step, rows)) for start in range(0, rows, step)]

    def draw(self, among: Sequence[int] = ()) -> Sample | None:
        """Rows that can't be foreseen; None for all of them. One block holds one of the rows `among`, where there are any."""
        if len(self._blocks) <= BLOCKS:
            return None
        drawn = _random.sample(self._blocks, BLOCKS)
        row = _random.choice(among) if among else -1
        wanted = next((block for block in self._blocks if row in block), None)
        if wanted is not None and wanted not in drawn:
            drawn[_random.randrange(BLOCKS)] = wanted
        return Sample(tuple(drawn))
