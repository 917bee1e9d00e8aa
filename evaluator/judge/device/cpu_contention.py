"""Detects a lack of CPU cores: the time that runnable threads waited for one, as the scheduler counts it.

Judge and workers busy-wait while they time on a GPU, so each needs a core all the time. If other processes have it, a request takes longer
by the judge's clock, and the submission can't change that.
"""

import time
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")
OWN = "thread-self"
"""The calling thread's name in /proc."""
LEAST_S = 0.1
"""Minimum time for a share. In a shorter time a single wait is a large share, and may have begun before."""


class CpuContention:
    """Counts from its creation on, for the thread that creates it and for some processes' main threads."""

    def __init__(self, pids: Iterable[int] = ()) -> None:
        self._start = time.monotonic()
        self._before_s = {name: waited_s(name) for name in (OWN, *map(str, pids))}

    def share(self) -> float | None:
        """Share of the time since then that the longest waiting of them has waited; None if Linux does not count it, or after less than
        LEAST_S. Call it in the thread that created this."""
        took_s = time.monotonic() - self._start
        if took_s < LEAST_S:
            return None
        pairs = ((before_s, waited_s(name)) for name, before_s in self._before_s.items())
        waits_s = [now_s - before_s for before_s, now_s in pairs if before_s is not None and now_s is not None]
        return min(max(waits_s) / took_s, 1.0) if waits_s else None


def waited_s(name: str) -> float | None:
    """Time that a process's main thread, or OWN, has waited for a core so far (/proc/PID/schedstat, the second number, in nanoseconds);
    None if that can't be read."""
    try:
        ran_ns, waited_ns, _ = map(int, (PROC / name / "schedstat").read_text().split())
    except (OSError, ValueError):
        return None
    return waited_ns / 1e9 if ran_ns else None  # all are 0 if Linux does not count
