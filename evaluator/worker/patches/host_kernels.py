"""Kernels that a DSL runs without a GPU, such as Triton's interpreter: recorded in the launch table, or left out in the ablation check.

Like the launch recorder on a GPU it only makes claims, in the submission's own process.
"""

import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evaluator.worker.patches.own_work import OwnWork
from evaluator.worker.recorder import INTERPRETED, RECORD, TABLE

Grid = tuple[int, ...]


class HostKernels:
    """Runs a process's kernels for the DSLs that use it."""

    def __init__(self, descriptor: int | None) -> None:
        """With the `descriptor` of a table, kernels are recorded."""
        self._table = None if descriptor is None else mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        self._records: dict[tuple[str, str], tuple[int, int]] = {}
        """By the kernel's name and file: its position in the table, and that of the first launch."""
        self._total = 0
        self.leaves_out = False
        """Whether kernels are skipped."""
        self.own_work: OwnWork | None = None
        """Counts the kernels' contribution; None if not asked for."""

    def run(self, kernel: Any, launch: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], grid: Callable[[], Grid]) -> Any:
        """Call `launch` and return its result, or None if kernels are left out. `kernel` is its function. `grid` is called afterwards
        and has at most three dimensions."""
        if self.leaves_out:
            return None
        value = self.own_work.run(launch, tuple(args), dict(kwargs)) if self.own_work else launch(*args, **kwargs)
        self._note(kernel, (*grid(), 1, 1, 1)[:3])
        return value

    def _note(self, kernel: Any, grid: Grid) -> None:
        """Count a launch; without room in the table it goes uncounted."""
        if self._table is None:
            return
        key = kernel.__name__, kernel.__code__.co_filename
        place, first = self._records.setdefault(key, (len(self._records), self._total))
        start = TABLE.size + place * RECORD.size
        if start + RECORD.size > len(self._table):
            return
        count = RECORD.unpack_from(self._table, start)[0] + 1
        numbers = (count, first, self._total, 0, *grid, *(1, 1, 1), *(0, 0, 0), 0, 0, *(0,) * 5, *(0,) * 8, *(0,) * 4)
        RECORD.pack_into(self._table, start, *numbers, *(text.encode(errors="replace") for text in (INTERPRETED, *key)))
        self._total += 1
        TABLE.pack_into(self._table, 0, self._total, len(self._records))
