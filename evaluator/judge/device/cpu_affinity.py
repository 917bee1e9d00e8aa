"""Which cores calls are timed on, on a processor: one thread of each core, and no more of them than the machine gives at once.

Two threads of one core share its units: a call takes longer while the other thread works. A process with more threads than its control
group's quota allows is stopped for a while whenever the quota is used up.
"""

import os
import re
from collections.abc import Collection
from pathlib import Path

from evaluator.machine.control_groups import folders

_TOPOLOGY = ("core_cpus_list", "thread_siblings_list")
"""Files of the kernel's that name the threads of a core; the second is what older ones have."""


def timing_cores(allowed: Collection[int] | None = None, root: Path = Path("/")) -> tuple[int, ...]:
    """The first allowed thread of each core, no more of them than a control group's quota is enough for.

    `allowed` is what this process may use, where it is not given; `root` is where /proc and /sys are.
    """
    of_core: dict[frozenset[int], int] = {}
    for number in sorted(os.sched_getaffinity(0) if allowed is None else allowed):
        of_core.setdefault(siblings(number, root), number)
    return tuple(of_core.values())[: _quota(root)]


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


def _quota(root: Path) -> int | None:
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
