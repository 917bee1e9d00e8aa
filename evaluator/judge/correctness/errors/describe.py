"""Describes an output's wrong elements: their positions and their values. It is shown beside a verdict and decides nothing."""

import logging
import math
from collections.abc import Callable
from typing import TypeVar

import torch

from evaluator.judge.correctness.errors.pattern import ErrorPattern
from evaluator.judge.correctness.errors.similarity import Similarity
from evaluator.results.evidence import ErrorMap

log = logging.getLogger(__name__)

T = TypeVar("T")

SIDE = 64
"""Patches along each side, at most."""
LEVELS = "123456789"
"""Characters of wrong patches: `1` is up to half a decade above the tolerance, each next one half a decade more."""
RIGHT, NOT_FINITE = ".", "#"


class ErrorDescription:
    """Collects wrong elements, chunk by chunk in row-major order. A part that fails, for example without memory, stays empty."""

    def __init__(self, shape: torch.Size, dtype: torch.dtype) -> None:
        self._pattern, self._map, self._similarity = ErrorPattern(shape), ErrorMapper(shape), Similarity(dtype, shape.numel())
        self._failed: set[str] = set()

    def add(
        self, start: int, candidate: torch.Tensor, oracle: torch.Tensor, error: torch.Tensor, wrong: torch.Tensor, tolerance: float
    ) -> None:
        """The elements from position `start` on, all of shape (n,): values in float64 or int64, `error` in float64, `wrong` bool."""
        self._part("pattern", lambda: self._pattern.add(start, wrong), None)
        self._part("error map", lambda: self._map.add(start, _ratio(error, wrong, tolerance)), None)
        self._part("likeness", lambda: self._similarity.add(candidate, oracle, wrong), None)

    def pattern(self) -> str:
        return self._part("pattern", self._pattern.describe, "")

    def error_map(self) -> ErrorMap | None:
        return self._part("error map", self._map.record, None)

    def likeness(self, factor: float | None = None) -> str:
        """The likeness in words. `factor`: the constant by which the whole output differs from the right one, if there is one."""
        return self._part("likeness", lambda: self._similarity.describe(factor), "")

    def _part(self, name: str, work: Callable[[], T], empty: T) -> T:
        if name in self._failed:
            return empty
        try:
            return work()
        except Exception:  # the verdict stands without a description
            log.exception("the %s of a wrong output is left empty", name)
            self._failed.add(name)
            return empty


def _ratio(error: torch.Tensor, wrong: torch.Tensor, tolerance: float) -> torch.Tensor:
    return error / tolerance if tolerance else torch.where(wrong, error + 1, 0.0)


class ErrorMapper:
    """Collects errors, chunk by chunk in row-major order. A tensor is seen as a matrix of its last dimension; a vector in lines."""

    def __init__(self, shape: torch.Size) -> None:
        self._elements = shape.numel()
        width = shape[-1] if len(shape) > 1 else math.ceil(math.sqrt(max(self._elements, 1)))
        self._width = max(width, 1)
        height = math.ceil(self._elements / self._width)
        self._cell = (max(math.ceil(height / SIDE), 1), max(math.ceil(self._width / SIDE), 1))
        self._cells = (math.ceil(height / self._cell[0]), math.ceil(self._width / self._cell[1]))
        self._largest: torch.Tensor | None = None

    def add(self, start: int, ratio: torch.Tensor) -> None:
        """`ratio`, shape (n,): error divided by tolerance, of the elements from position `start` on; infinite if that is not finite."""
        if self._largest is None:
            self._largest = torch.zeros(self._cells[0] * self._cells[1], dtype=ratio.dtype, device=ratio.device)
        if start % self._width == 0 and len(ratio) % self._width == 0:
            self._add_lines(start // self._width, ratio.view(-1, self._width), self._largest.view(self._cells))
            return
        wrong = (ratio > 1).nonzero().flatten()
        position = wrong + start
        cell = position // self._width // self._cell[0] * self._cells[1] + position % self._width // self._cell[1]
        self._largest.scatter_reduce_(0, cell, ratio[wrong], "amax")

    def _add_lines(self, first: int, lines: torch.Tensor, largest: torch.Tensor) -> None:
        """Add whole lines from number `first` on, one row of patches after another. Patch by patch would be far slower: all elements of a
        patch write to one place."""
        height, width = self._cell
        pieces = torch.nn.functional.pad(lines, (0, -self._width % width)).view(len(lines), -1, width)
        done = 0
        while done < len(lines):
            row = (first + done) // height
            end = min((row + 1) * height - first, len(lines))
            torch.maximum(largest[row], pieces[done:end].amax(2).amax(0), out=largest[row])
            done = end

    def record(self) -> ErrorMap | None:
        """The map; None if nothing was wrong."""
        if self._largest is None or not bool((self._largest > 1).any()):
            return None
        text = "".join(map(_character, self._largest.tolist()))
        rows = tuple(text[start : start + self._cells[1]] for start in range(0, len(text), self._cells[1]))
        return ErrorMap(rows=rows, rows_per_cell=self._cell[0], columns_per_cell=self._cell[1])


def _character(ratio: float) -> str:
    if ratio <= 1:
        return RIGHT
    return NOT_FINITE if math.isinf(ratio) else LEVELS[min(int(2 * math.log10(ratio)), len(LEVELS) - 1)]
