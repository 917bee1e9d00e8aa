"""How the wrong elements of an output lie: the shape of a mistake often names its cause."""

import math

import torch

EVERYTHING_SHARE = 0.98
ISOLATED_SHARE = 1e-3
MAX_POSITIONS = 4096
"""Positions that a stride is looked for in."""


class Layout:
    """Collects wrong positions, chunk by chunk in row-major order, and names their pattern."""

    def __init__(self, shape: torch.Size) -> None:
        self._elements = shape.numel()
        self._row = shape[-1] if len(shape) > 1 else 0
        self._count = self._rows_touched = self._last_row = 0
        self._first: int | None = None
        self._last = -1
        self._positions: list[int] = []

    def add(self, start: int, wrong: torch.Tensor) -> None:
        """`wrong`: bool, shape (n,): elements from position `start` on."""
        positions = wrong.nonzero().flatten()
        if not len(positions):
            return
        if self._first is None:
            self._first, self._last_row = start + int(positions[0]), -1
        self._last = start + int(positions[-1])
        self._count += len(positions)
        if self._row:
            rows = (positions + start) // self._row
            self._rows_touched += int((rows[1:] != rows[:-1]).sum()) + int(int(rows[0]) != self._last_row)
            self._last_row = int(rows[-1])
        room = MAX_POSITIONS - len(self._positions)
        self._positions += (positions[:room] + start).tolist() if room > 0 else []

    def describe(self) -> str:
        """The pattern in words; empty where nothing was wrong."""
        if self._first is None:
            return ""
        if self._count >= EVERYTHING_SHARE * self._elements:
            return "everything"
        if self._count == self._last - self._first + 1 and self._count > 1:
            return f"a tail of {self._count}" if self._last == self._elements - 1 else f"one stretch of {self._count}"
        if self._row > 1 and self._count == self._rows_touched * self._row:
            return f"{self._rows_touched} whole rows"
        stride = math.gcd(*(after - before for before, after in zip(self._positions, self._positions[1:], strict=False)))
        if stride > 1 and self._count > 2:
            return f"a stride of {stride}"
        return "isolated" if self._count <= max(1, ISOLATED_SHARE * self._elements) else "scattered"
