"""What a worker's processes do when nothing has been asked of them, as the kernel counts it.

A thread or a child that goes on computing after the call has returned takes processor time. How busy the machine is otherwise does
not matter: time is counted where the process runs, not where it waits.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluator.sandbox.affinity import cores_of
from evaluator.sandbox.tree import Lineage, parent

_CPUCLOCK_SCHED = 2
LOOK_EVERY_S = 0.0005
QUIET_MS = 0.02
"""Less than this between two looks is a process that waits."""
QUIET_LOOKS = 2
"""So many of them in a row, and it is not going to do more."""


class Activity:
    """The processor time of a confined program: of the process, of all that it started, and of what has lost its parent since."""

    def __init__(self, pid: int) -> None:
        """`pid` as this process's namespace numbers it, of a process that still has the parent which confined it: orphans go there."""
        self._pid = pid
        self._lineage = Lineage(parent(pid) or pid)
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

    def answered(self) -> None:
        """Count from now on what the program does of its own accord, or asked to reveal its answer.

        First comes what those have used that were there before the call: to look for others takes a part of a millisecond.
        """
        self._answered_ms = {pid: _used_ms(pid) for pid in self._lineage.found}
        for pid in self._lineage.look() - self._answered_ms.keys():
            self._answered_ms[pid] = _used_ms(pid)

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
