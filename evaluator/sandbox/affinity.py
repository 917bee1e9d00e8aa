"""The CPU cores that a program may run on: processes and threads inherit them from the thread that starts them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def kept_to(cores: Sequence[int]) -> Iterator[None]:
    """Keep this thread, and processes that it starts meanwhile, on these cores; without any, on its current ones.

    Raises OSError if this process may use none of them.
    """
    before = os.sched_getaffinity(0)
    if cores:
        os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        if cores:
            os.sched_setaffinity(0, before)


def cores_of(pids: Iterable[int]) -> set[int]:
    """All cores that any thread of these processes may run on."""
    found: set[int] = set()
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            for thread in Path("/proc", str(pid), "task").iterdir():
                with suppress(ProcessLookupError):
                    found |= os.sched_getaffinity(int(thread.name))
    return found
