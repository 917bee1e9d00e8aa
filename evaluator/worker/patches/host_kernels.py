"""Kernels that a DSL runs without a GPU, such as Triton's interpreter: noted in the launch table, or left out where own work is.

Like the launch recorder on a GPU it only makes claims, in the submission's own process.
"""

import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evaluator.worker.launch_table import INTERPRETED, RECORD, TABLE
from evaluator.worker.patches.own_work import OwnWork

Grid = tuple[int, ...]


class HostKernels:
    """Runs the kernels of one process for the DSLs that have it do so."""

    def __init__(self, descriptor: int | None) -> None:
        """With the `descriptor` of a table, kernels are recorded."""
        self._table = None if descriptor is None else mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        self._records: dict[tuple[str, str], tuple[int, int]] = {}
        """Position in the table, and of the first launch, by the kernel's name and file."""
        self._total = 0
        self.leaves_out = False
        """Whether kernels are not run."""
        self.own_work: OwnWork | None = None
        """Counts what kernels contribute, where that is asked for."""

    def run(self, kernel: Any, launch: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], grid: Callable[[], Grid]) -> Any:
        """What `launch` returns, or raises; None where kernels are left out. `kernel` is the function that it runs, over a grid of at most
        three dimensions, which is asked for afterwards."""
        if self.leaves_out:
            return None
        value = self.own_work.run(launch, tuple(args), dict(kwargs)) if self.own_work else launch(*args, **kwargs)
        self._note(kernel, (*grid(), 1, 1, 1)[:3])
        return value

    def _note(self, kernel: Any, grid: Grid) -> None:
        """Count a launch; what there is no room for goes uncounted."""
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
