"""Processor time of a worker's processes, as the kernel counts it, also while they have no request.

A thread or a child that goes on computing after the call has returned takes processor time. Other load on the machine does not matter:
the kernel counts the time in which a process runs, not the time in which it waits.
"""

import math
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluator.sandbox.affinity import cores_of
from evaluator.sandbox.resources.process_tree import Lineage, parent

_CPUCLOCK_SCHED = 2
LOOK_EVERY_S = 0.0005
QUIET_MS = 0.02
"""A process that uses less than this between two looks is waiting."""
WAITS_WITHIN_S = 0.002
"""Limit for a process to begin waiting after its answer; with a free processor it takes a twentieth of this."""
QUIET_LOOKS = 2
"""After so many quiet looks in a row the process is done."""


class CpuTime:
    """Processor time of a confined program: of its process, of all that this started, and of orphans among them."""

    def __init__(self, pid: int) -> None:
        """`pid` is in this process's namespace; the process must still have the parent that confined it, which takes in orphans."""
        self._pid = pid
        self._root = parent(pid) or pid
        self._lineage = Lineage(self._root)
        self._cores = _count_cores(pid)
        self._answered_ms: dict[int, float] = {}
        """Processor time of each process when the last answer came."""
        self.answered()

    def main_ms(self) -> float:
        """Processor time of the process itself so far."""
        return _used_ms(self._pid)

    def main_at_answer_ms(self) -> float:
        """The same when the last answer came."""
        return self._answered_ms.get(self._pid, 0.0)

    def elsewhere_ms(self) -> float:
        """Processor time so far of the program's other processes, and of those that have ended and been waited for."""
        others = self._lineage.look() - {self._pid}
        return sum(map(_used_ms, others)) + sum(map(_ended_ms, {self._pid, self._root} | others))

    def cores(self) -> set[int]:
        """All cores that a thread of the program may run on now."""
        return cores_of(self._lineage.look())

    @contextmanager
    def arriving(self) -> Iterator[list[float]]:
        """Yield a list that holds, when the block is left, the processor time used in it, in ms, by processes that existed before it."""
        used_ms: list[float] = []
        start = self._used_by_process()
        yield used_ms
        used_ms.append(max(sum(map(_used_ms, start)) - sum(start.values()), 0.0))

    def answered(self, called_at_ms: float | None = None, took_ms: float = 0.0) -> None:
        """Count from now on what the program does after its answer, or to reveal it. The call took `took_ms`; before it the process had
        used `called_at_ms`.

        The kernel counts a running thread's time only when it gives up its processor, or every few milliseconds. On a busy machine, the
        judge may also read an answer before the process is done with sending it. So the process gets a moment to begin waiting. The time
        used until then belongs to the call only as far as it fits into the time that the call took.
        """
        self._answered_ms = {pid: _used_ms(pid) for pid in self._lineage.found}
        for pid in self._lineage.look() - self._answered_ms.keys():
            self._answered_ms[pid] = _used_ms(pid)
        deadline = time.monotonic() + WAITS_WITHIN_S
        while _state(Path("/proc", str(self._pid), "stat")) == b"R" and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S / 10)
        if self._pid in self._answered_ms:
            most_ms = math.inf if called_at_ms is None else called_at_ms + self._cores * took_ms
            self._answered_ms[self._pid] = min(_used_ms(self._pid), most_ms)

    def since_answer_ms(self) -> float:
        """Processor time used since the answer.

        Processes started since then count in full. Processes that have ended since then no longer count; ended threads do.
        """
        now = self._used_by_process()
        return sum(max(used_ms - self._answered_ms.get(pid, 0.0), 0.0) for pid, used_ms in now.items())

    def after_answer_ms(self, longest_s: float) -> float:
        """Wait until all processes are quiet, `longest_s` at most; the processor time used since the answer."""
        deadline = time.monotonic() + longest_s
        last, quiet = sum(self._answered_ms.values()), 0
        while (quiet < QUIET_LOOKS or _any_runs(self._answered_ms)) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)
            now = sum(map(_used_ms, self._answered_ms))
            quiet = quiet + 1 if now - last < QUIET_MS else 0
            last = now
        return self.since_answer_ms()

    def _used_by_process(self) -> dict[int, float]:
        return {pid: _used_ms(pid) for pid in self._lineage.look()}


def _count_cores(pid: int) -> int:
    """How many cores a process may run on; one where there is no such process any more."""
    try:
        return len(os.sched_getaffinity(pid))
    except ProcessLookupError:
        return 1


def _any_runs(pids: Iterable[int]) -> bool:
    """Whether a thread of these processes runs, or would if it had a processor."""
    return any(_state(stat) == b"R" for pid in pids for stat in Path("/proc", str(pid), "task").glob("*/stat"))


def _state(stat: Path) -> bytes:
    return next(iter(_fields(stat)), b"")


def _ended_ms(pid: int) -> float:
    """Processor time of the children of a process that have ended and been waited for (proc(5), cutime and cstime, in ticks)."""
    return sum(map(int, _fields(Path("/proc", str(pid), "stat"))[13:15])) * 1e3 / os.sysconf("SC_CLK_TCK")


def _fields(stat: Path) -> list[bytes]:
    """What the kernel says of a process or a thread, from its state on; empty where it is gone."""
    try:
        return stat.read_bytes().rpartition(b")")[2].split()  # the command, in parentheses, may hold anything
    except (FileNotFoundError, ProcessLookupError):
        return []


def _used_ms(pid: int) -> float:
    """CPU clock of a process (clock_getcpuclockid(3)): that of all its threads, ended ones too; 0 where there is no such process."""
    try:
        return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED) * 1e3
    except OSError:
        return 0.0
