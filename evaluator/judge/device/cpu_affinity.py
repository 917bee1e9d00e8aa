"""Chooses the cores for timing calls on a CPU, and the judge's core meanwhile.

Two hardware threads of one core share its units: a call takes longer while the other thread works. So workers get one thread of each core.
A process with more threads than its control group's quota allows is paused whenever the quota is used up. The judge has a core of its own
if possible: on the worker's core it would evict the caches, and a reply would wait for it.
"""

import os
import re
from collections.abc import Collection
from pathlib import Path

from evaluator.machine.memory import folders

_TOPOLOGY = ("core_cpus_list", "thread_siblings_list")
"""Files of Linux that name the threads of a core; older versions have the second."""
FEW_CORES = 4
"""With at most this many cores, workers have one: a call's threads would share the others with the judge and compilers, and the call would
take as long as the thread that waits longest for a core."""


def timing_cores(allowed: Collection[int] | None = None, root: Path = Path("/")) -> tuple[int, ...]:
    """One thread of each core except the first, which is the judge's, and at most as many as a control group's quota allows. With FEW_CORES
    or fewer, only the last core.

    `allowed` defaults to the cores that this process may use. `root` is the folder of /proc and /sys.
    """
    cores = _first_threads(allowed, root)
    quota = whole_quota(root) or len(cores)
    return cores[-1:] if min(len(cores), quota) <= FEW_CORES else cores[1:][:quota]


def judge_core(cores: Collection[int], allowed: Collection[int] | None = None, root: Path = Path("/")) -> tuple[int, ...]:
    """The judge's own core while calls are timed on `cores`; if there is no other core, all of `cores`."""
    return remaining(cores, allowed, root)[:1] or tuple(cores)


def _first_threads(allowed: Collection[int] | None, root: Path) -> tuple[int, ...]:
    """The first allowed thread of each core, in order."""
    of_core: dict[frozenset[int], int] = {}
    for number in sorted(os.sched_getaffinity(0) if allowed is None else allowed):
        of_core.setdefault(siblings(number, root), number)
    return tuple(of_core.values())


def remaining(cores: Collection[int], allowed: Collection[int] | None = None, root: Path = Path("/")) -> tuple[int, ...]:
    """The allowed threads on other cores than these; empty if there are none, or no cores are given."""
    if not cores:
        return ()
    taken = {number for core in cores for number in siblings(core, root)}
    return tuple(sorted(set(os.sched_getaffinity(0) if allowed is None else allowed) - taken))


def siblings(number: int, root: Path = Path("/")) -> frozenset[int]:
    """The threads of the core of one thread; only that thread if Linux does not name them."""
    for name in _TOPOLOGY:
        try:
            return frozenset(read_cores((root / f"sys/devices/system/cpu/cpu{number}/topology" / name).read_text()))
        except (OSError, ValueError):
            continue
    return frozenset({number})


def read_cores(text: str) -> tuple[int, ...]:
    """The numbers of a list such as `0-3,8`, in order. Raises ValueError for other text."""
    found: set[int] = set()
    for part in text.strip().split(","):
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"{text.strip()!r} is no list of cores as in 0-3,8")
        found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(found))


def whole_quota(root: Path) -> int | None:
    """The CPU quota of the control group, in whole cores, at least one; None without a quota."""
    found: list[float] = []
    for folder, is_second in folders("cpu", root):
        try:
            if is_second:
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota, period = ((folder / name).read_text() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
            found += [int(quota) / int(period)] if int(quota) > 0 else []
        except (OSError, ValueError, ZeroDivisionError):  # no such group here, or "max"
            continue
    return max(1, int(min(found))) if found else None
