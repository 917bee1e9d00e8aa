"""CPU time of a worker's processes, counted by the operating system, also while they have no request.

A thread or a child that goes on computing after the call has returned uses CPU time. Other load on the machine does not matter: the
operating system counts the time in which a process runs, not the time in which it waits.
"""

import math
import os
import time
from collections.abc import Iterable
from pathlib import Path

from evaluator.judge import limits
from evaluator.sandbox.affinity import cores_of
from evaluator.sandbox.resources.process_tree import Lineage, parent

_CPUCLOCK_SCHED = 2
LOOK_EVERY_S = 0.0005


class CpuTime:
    """CPU time of a sandboxed program: its process, all processes that it started, and orphans among them."""

    def __init__(self, pid: int) -> None:
        """`pid` is in this process's namespace. The process must still have the parent that sandboxed it, which adopts orphans."""
        self._pid = pid
        self._root = parent(pid) or pid
        self._lineage = Lineage(self._root)
        self._cores = _count_cores(pid)
        self._answered_ms: dict[int, float] = {}
        """CPU time of each process when the last reply came."""
        self.answered()

    def main_ms(self) -> float:
        """CPU time of the process itself so far."""
        return _used_ms(self._pid)

    def main_at_answer_ms(self) -> float:
        """CPU time of the process itself when the last reply came."""
        return self._answered_ms.get(self._pid, 0.0)

    def elsewhere_ms(self) -> float:
        """CPU time so far of the program's other processes, including ended ones that were waited for."""
        others = self._lineage.look() - {self._pid}
        return sum(map(_used_ms, others)) + sum(map(_ended_ms, {self._pid, self._root} | others))

    def cores(self) -> set[int]:
        """All cores that a thread of the program may run on now."""
        return cores_of(self._lineage.look())

    def answered(self, called_at_ms: float | None = None, took_ms: float = 0.0) -> None:
        """Start to count the CPU time after the reply, or for the reveal of an output. The call took `took_ms`; before it
        the process had used `called_at_ms`.

        The operating system counts a running thread's time only when the thread leaves its core, or every few milliseconds. On a busy
        machine, the judge may also read a reply before the process has finished sending it. So the process gets a moment to begin waiting.
        The time used until then belongs to the call only as far as it fits into the call's duration.
        """
        self._answered_ms = {pid: _used_ms(pid) for pid in self._lineage.found}
        for pid in self._lineage.look() - self._answered_ms.keys():
            self._answered_ms[pid] = _used_ms(pid)
        deadline = time.monotonic() + limits.WAITS_WITHIN_S
        while _state(Path("/proc", str(self._pid), "stat")) == b"R" and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S / 10)
        if self._pid in self._answered_ms:
            most_ms = math.inf if called_at_ms is None else called_at_ms + self._cores * took_ms
            self._answered_ms[self._pid] = min(_used_ms(self._pid), most_ms)

    def since_answer_ms(self) -> float:
        """CPU time used since the reply.

        Processes started since then count in full. Processes that ended since then no longer count; ended threads do.
        """
        now = self._used_by_process()
        return sum(max(used_ms - self._answered_ms.get(pid, 0.0), 0.0) for pid, used_ms in now.items())

    def after_answer_ms(self, longest_s: float) -> float:
        """Wait until all processes are quiet, for at most `longest_s`. Returns the CPU time used since the reply."""
        deadline = time.monotonic() + longest_s
        last, quiet = sum(self._answered_ms.values()), 0
        while (quiet < limits.QUIET_LOOKS or _any_runs(self._answered_ms)) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)
            now = sum(map(_used_ms, self._answered_ms))
            quiet = quiet + 1 if now - last < limits.QUIET_MS else 0
            last = now
        return self.since_answer_ms()

    def _used_by_process(self) -> dict[int, float]:
        return {pid: _used_ms(pid) for pid in self._lineage.look()}


def _count_cores(pid: int) -> int:
    """Number of cores that a process may run on; one if the process has ended."""
    try:
        return len(os.sched_getaffinity(pid))
    except ProcessLookupError:
        return 1


def _any_runs(pids: Iterable[int]) -> bool:
    """Whether a thread of these processes runs, or waits for a CPU core."""
    return any(_state(thread / "stat") == b"R" for pid in pids for thread in _threads(pid))


def _threads(pid: int) -> list[Path]:
    """The folders of a process's threads; empty if it has ended."""
    try:
        return list(Path("/proc", str(pid), "task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


def _state(stat: Path) -> bytes:
    return next(iter(_fields(stat)), b"")


def _ended_ms(pid: int) -> float:
    """CPU time of a process's children that ended and were waited for (proc(5), cutime and cstime, in ticks)."""
    return sum(map(int, _fields(Path("/proc", str(pid), "stat"))[13:15])) * 1e3 / os.sysconf("SC_CLK_TCK")


def _fields(stat: Path) -> list[bytes]:
    """The fields of a process's or thread's `stat` file, from its state on; empty if it has ended."""
    try:
        return stat.read_bytes().rpartition(b")")[2].split()  # the command, in parentheses, may hold anything
    except (FileNotFoundError, ProcessLookupError):
        return []


def _used_ms(pid: int) -> float:
    """CPU clock of a process (clock_getcpuclockid(3)): all its threads, including ended ones; 0 if there is no such process."""
    try:
        return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED) * 1e3
    except OSError:
        return 0.0
