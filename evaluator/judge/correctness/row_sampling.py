"""Samples of rows. If a problem's rows are independent, some of them are a smaller instance of the problem."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from evaluator.chance import chance
from evaluator.judge.correctness.tolerance import has_row_scale, is_exact
from evaluator.worker.nested import tensors

SAMPLE_ELEMENTS = 1 << 26
"""Number of elements in the random rows chosen from larger tensors."""
BLOCKS = 8
"""Number of blocks of neighbouring rows in a sample."""
SHORTER = 8
"""Beside known rows, blocks are shorter by this factor: rounds with unchanged inputs compare all rows."""
GROUP = 16
"""A known row is compared with its neighbours in an aligned group of at most this many rows, since kernels compute tiles of rows."""


def common_rows(inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> int | None:
    """The number of rows of all tensors, at least one; None if it differs."""
    rows = {len(tensor) if tensor.dim() else -1 for tensor in tensors([*inputs, *outputs])}
    return None if len(rows) != 1 or min(rows) < 1 else rows.pop()


@dataclass(frozen=True)
class Sample:
    """Some rows, in blocks."""

    blocks: tuple[range, ...]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def original(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """The index among all rows of an element of these rows."""
        row, *others = index
        return (list(chain(*self.blocks))[row], *others)

    def parts(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Views of these rows."""
        return [tensor[block.start : block.stop] for block in self.blocks]

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy of these rows."""
        return torch.cat(self.parts(tensor))


class Sampler:
    """Chooses random rows to compare. All rows are compared if there are few."""

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor], rows_independent: bool) -> None:
        """For inputs and outputs of these shapes."""
        rows = common_rows(inputs, outputs) if outputs and rows_independent else None
        largest = max((tensor.numel() for tensor in tensors([*inputs, *outputs])), default=0)
        self._any_exact = any(is_exact(output.dtype) for output in outputs)
        self._common_scale = any(not is_exact(output.dtype) and not has_row_scale(output.shape, rows_independent) for output in outputs)
        self._rows = rows or 0
        self._blocks: list[range] = []
        self._group = GROUP
        self._short_blocks: list[range] = []
        if rows is not None and largest > SAMPLE_ELEMENTS:
            step = max(SAMPLE_ELEMENTS * rows // largest // BLOCKS, 1)
            short = max(step // SHORTER, 1)
            self._group = min(short, GROUP)
            self._blocks, self._short_blocks = _blocks(rows, step), _blocks(rows, short - short % self._group)

    def draw(self, among: Sequence[int] = ()) -> Sample | None:
        """Rows that can't be predicted; None for all rows, and if an output is exact or has one scale for the whole tensor. If `among` is
        given, one block holds one of these rows."""
        if len(self._blocks) <= BLOCKS or self._any_exact or self._common_scale:
            return None
        drawn = chance.sample(self._blocks, BLOCKS)
        row = chance.choice(among) if among else -1
        wanted = next((block for block in self._blocks if row in block), None)
        if wanted is not None and wanted not in drawn:
            drawn[chance.randrange(BLOCKS)] = wanted
        return Sample(tuple(drawn))

    def holding(self, rows: Collection[int]) -> Sample | None:
        """The groups of these rows, and short blocks of random others; None for all rows.

        A wrong sample is no verdict: its scale may be smaller than that of the whole. If an output has one scale for the whole, groups must
        have GROUP rows, so that rows with outliers don't dominate the sample's scale.
        """
        others = [block for block in self._short_blocks if not any(row in block for row in rows)]
        if not rows or len(others) <= BLOCKS or (self._common_scale and self._group < GROUP):
            return None
        starts = sorted({row - row % self._group for row in rows})
        groups = [range(start, min(start + self._group, self._rows)) for start in starts]
        sample = Sample((*groups, *chance.sample(others, BLOCKS)))
        return sample if 2 * len(sample) < self._rows else None


def _blocks(rows: int, length: int) -> list[range]:
    return [range(start, min(start + length, rows)) for start in range(0, rows, length)]
