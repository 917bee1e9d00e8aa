"""Whether there were processors enough: for how long threads that could run had to wait for one, as the scheduler counts it.

Judge and workers wait awake while they time on a GPU, so that each needs a processor all the time. Where other processes have it, a request
takes longer by the judge's clock, whatever the submission does.
"""

import time
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")
OWN = "thread-self"
"""The calling thread, as the kernel names it there."""
LEAST_S = 0.1
"""Of less, a single wait is a large share, and one that has begun before is counted in it."""


class CpuContention:
    """Counts from its creation on, for the thread that creates it and for some processes' main threads."""

    def __init__(self, pids: Iterable[int] = ()) -> None:
        self._start = time.monotonic()
        self._before_s = {name: waited_s(name) for name in (OWN, *map(str, pids))}

    def share(self) -> float | None:
        """Of the time since then, what one of them has waited, the one that has waited longest; None where the kernel does not tell, and of
        too short a time. By the thread that created it."""
        took_s = time.monotonic() - self._start
        if took_s < LEAST_S:
            return None
        pairs = ((before_s, waited_s(name)) for name, before_s in self._before_s.items())
        waits_s = [now_s - before_s for before_s, now_s in pairs if before_s is not None and now_s is not None]
        return min(max(waits_s) / took_s, 1.0) if waits_s else None


def waited_s(name: str) -> float | None:
    """How long a process's main thread, or OWN, has waited for a processor so far (/proc/PID/schedstat, the second number, in nanoseconds);
    None where that can't be read."""
    try:
        ran_ns, waited_ns, _ = map(int, (PROC / name / "schedstat").read_text().split())
    except (OSError, ValueError):
        return None
    return waited_ns / 1e9 if ran_ns else None  # all are 0 where the kernel does not count
