"""What a worker's processes do when nothing has been asked of them, as the kernel counts it.

A thread or a child that goes on computing after the call has returned takes processor time. How busy the machine is otherwise does
not matter: time is counted where the process runs, not where it waits.
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
"""Less than this between two looks is a process that waits."""
WAITS_WITHIN_S = 0.002
"""After its answer a process waits for what comes next within a twentieth of this, where it has a processor."""
QUIET_LOOKS = 2
"""So many of them in a row, and it is not going to do more."""


class CpuTime:
    """The processor time of a confined program: of the process, of all that it started, and of what has lost its parent since."""

    def __init__(self, pid: int) -> None:
        """`pid` as this process's namespace numbers it, of a process that still has the parent which confined it: orphans go there."""
        self._pid = pid
        self._lineage = Lineage(parent(pid) or pid)
        self._cores = _count_cores(pid)
        self._answered_ms: dict[int, float] = {}
        """What each had used when the last answer came."""
        self.answered()

    def main_ms(self) -> float:
        """Processor time of the process itself so far."""
        return _used_ms(self._pid)

    def main_at_answer_ms(self) -> float:
        """The same when the last answer came."""
        return self._answered_ms.get(self._pid, 0.0)

    def cores(self) -> set[int]:
        """All cores that a thread of the program may run on now."""
        return cores_of(self._lineage.look())

    @contextmanager
    def arriving(self) -> Iterator[list[float]]:
        """The processor time used within the block, in ms, in a list that has it when the block is left; of those processes alone that
        there were before."""
        used_ms: list[float] = []
        start = self._used_by_process()
        yield used_ms
        used_ms.append(max(sum(map(_used_ms, start)) - sum(start.values()), 0.0))

    def answered(self, called_at_ms: float | None = None, took_ms: float = 0.0) -> None:
        """Count from now on what the program does of its own accord, or asked to reveal its answer: that of a call which took so long, and
        before which the process had used so much.

        What a thread has used since it got its processor is in no count as long as it keeps it (the kernel counts when it gives it up, or
        every few milliseconds), and on a busy machine an answer is read before the process has put away what it answered with. So the
        process itself is given a moment to wait for what comes next; but what it has used by then belongs to the call only as far as it
        fits into the time that the call took.
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
        """The processor time used since the answer.

        What has been started meanwhile counts whole. What has ended meanwhile, threads aside, can't be asked any more.
        """
        now = self._used_by_process()
        return sum(max(used_ms - self._answered_ms.get(pid, 0.0), 0.0) for pid, used_ms in now.items())

    def after_answer_ms(self, longest_s: float) -> float:
        """Watch until all has gone quiet, `longest_s` at most; the processor time used since the answer."""
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
    try:
        return stat.read_bytes().rpartition(b")")[2].split()[0]  # the command, in parentheses, may hold anything
    except (FileNotFoundError, ProcessLookupError):
        return b""


def _used_ms(pid: int) -> float:
    """CPU clock of a process (clock_getcpuclockid(3)): that of all its threads, ended ones too; 0 where there is no such process."""
    try:
        return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED) * 1e3
    except OSError:
        return 0.0
