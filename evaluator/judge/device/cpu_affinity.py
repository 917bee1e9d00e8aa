"""Which cores calls are timed on, on a processor, and which one the judge has meanwhile.

Two hardware threads of one core share its units: a call takes longer while the other thread works. So workers get one thread of each core.
A process with more threads than its control group's quota allows is stopped for a while whenever the quota is used up. The judge has a core
of its own where there is one: on the worker's core it would evict the caches, and an answer would wait for it.
"""

import os
import re
from collections.abc import Collection
from pathlib import Path

from evaluator.machine.control_groups import folders

_TOPOLOGY = ("core_cpus_list", "thread_siblings_list")
"""Files of the kernel's that name the threads of a core; the second is what older ones have."""
FEW_CORES = 4
"""On a machine with no more cores than this, workers have one: threads of a call would share the others with the judge and with compilers,
and the call would take as long as the thread that waits longest for a core."""


def timing_cores(allowed: Collection[int] | None = None, root: Path = Path("/")) -> tuple[int, ...]:
    """One thread of each core but the first, which is the judge's, and no more than a control group's quota is enough for; of FEW_CORES or
    fewer, the last one alone.

    `allowed` is what this process may use, where it is not given; `root` is where /proc and /sys are.
    """
    cores = _first_threads(allowed, root)
    quota = whole_quota(root) or len(cores)
    return cores[-1:] if min(len(cores), quota) <= FEW_CORES else cores[1:][:quota]


def judge_core(cores: Collection[int], allowed: Collection[int] | None = None, root: Path = Path("/")) -> tuple[int, ...]:
    """The core that the judge has to itself while calls are timed on `cores`; where there is no other one, all of these."""
    return remaining(cores, allowed, root)[:1] or tuple(cores)


def _first_threads(allowed: Collection[int] | None, root: Path) -> tuple[int, ...]:
    """The first allowed thread of each core, in order."""
    of_core: dict[frozenset[int], int] = {}
    for number in sorted(os.sched_getaffinity(0) if allowed is None else allowed):
        of_core.setdefault(siblings(number, root), number)
    return tuple(of_core.values())


def remaining(cores: Collection[int], allowed: Collection[int] | None = None, root: Path = Path("/")) -> tuple[int, ...]:
    """The allowed threads on other cores than these; empty where there are none, or no cores are given."""
    if not cores:
        return ()
    taken = {number for core in cores for number in siblings(core, root)}
    return tuple(sorted(set(os.sched_getaffinity(0) if allowed is None else allowed) - taken))


def siblings(number: int, root: Path = Path("/")) -> frozenset[int]:
    """The threads of one core, by the number of one of them; that one alone where the kernel does not tell."""
    for name in _TOPOLOGY:
        try:
            return frozenset(read_cores((root / f"sys/devices/system/cpu/cpu{number}/topology" / name).read_text()))
        except (OSError, ValueError):
            continue
    return frozenset({number})


def read_cores(text: str) -> tuple[int, ...]:
    """The numbers of a list as in `0-3,8`, in order. Raises ValueError where it is no such list."""
    found: set[int] = set()
    for part in text.strip().split(","):
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"{text.strip()!r} is no list of cores as in 0-3,8")
        found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(found))


def whole_quota(root: Path) -> int | None:
    """How many cores' time a control group gives, whole ones, at least one; None where it gives all."""
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
