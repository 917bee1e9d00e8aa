"""Triton's interpreter on the CPU: the kernels that it runs are noted in the launch table, or left out where own work is.

Like the launch recorder on a GPU it only makes claims, in the submission's own process.
"""

import functools
import mmap
import os
import sys
from typing import Any

from evaluator.worker.launch_table import INTERPRETED, RECORD, TABLE
from evaluator.worker.patches.own_work import OwnWork

ENVIRONMENT = {"TRITON_INTERPRET": "1"}
"""Read by Triton when it is imported."""
_MODULE = "triton.runtime.interpreter"


class Interpreter:
    """Watches over the interpreter of this process, once the submission has imported it."""

    def __init__(self, descriptor: int | None) -> None:
        """With the `descriptor` of a table, kernels are recorded."""
        self._table = None if descriptor is None else mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        self._records: dict[tuple[str, str], tuple[int, int]] = {}
        """Position in the table, and of the first launch, by the kernel's name and file."""
        self._total = 0
        self._watched = False
        self.leaves_out = False
        """Whether kernels are not run."""
        self.own_work: OwnWork | None = None
        """Counts what kernels contribute, where that is asked for."""

    def watch(self) -> None:
        """Have the kernels noted that run from now on; to be called again after code that may have imported Triton."""
        module = sys.modules.get(_MODULE)
        if module is None or self._watched:
            return
        self._watched = True
        run = module.GridExecutor.__call__

        @functools.wraps(run)
        def watched(executor: Any, *args: Any, **kwargs: Any) -> Any:
            if self.leaves_out:
                return None
            value = self.own_work.run(run, (executor, *args), kwargs) if self.own_work else run(executor, *args, **kwargs)
            grid = getattr(module.interpreter_builder, "grid_dim", None)
            self._note(executor.fn, tuple(grid) if isinstance(grid, list | tuple) else (1, 1, 1))
            return value

        module.GridExecutor.__call__ = watched

    def _note(self, kernel: Any, grid: tuple[int, ...]) -> None:
        """Count a launch; what there is no room for goes uncounted."""
        if self._table is None:
            return
        key = kernel.__name__, kernel.__code__.co_filename
        place, first = self._records.setdefault(key, (len(self._records), self._total))
        start = TABLE.size + place * RECORD.size
        if start + RECORD.size > len(self._table):
            return
        count = RECORD.unpack_from(self._table, start)[0] + 1
        numbers = (count, first, self._total, 0, *grid[:3], *(1, 1, 1), *(0, 0, 0), 0, 0, *(0,) * 5, *(0,) * 8, *(0,) * 4)
        RECORD.pack_into(self._table, start, *numbers, *(text.encode(errors="replace") for text in (INTERPRETED, *key)))
        self._total += 1
        TABLE.pack_into(self._table, 0, self._total, len(self._records))
