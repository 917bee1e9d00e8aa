"""The cores that a program may run on: what a process forks, and every thread that it starts, begins with its own."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def kept_to(cores: Sequence[int]) -> Iterator[None]:
    """Keep this thread, and what it starts meanwhile, to these cores; where there are none given, to those that it has.

    Raises OSError where this process may use none of them.
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
    """All cores that a thread of these processes may run on."""
    found: set[int] = set()
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            for thread in Path("/proc", str(pid), "task").iterdir():
                with suppress(ProcessLookupError):
                    found |= os.sched_getaffinity(int(thread.name))
    return found
