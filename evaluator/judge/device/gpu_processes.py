"""Counts other processes on a GPU: those that belong neither to this judge nor to another judge of the machine.

The driver lists processes with a context on the GPU. The listed ids depend on driver and machine. NVIDIA's open kernel modules list the
processes that the caller can see, by their ids in its PID namespace, including workers in namespaces below it. The closed modules list all,
by their ids in the outermost namespace. In some virtual machines and containers the list is empty. So the judge uses it only if it contains
this process, which has a context of its own. Even then processes outside of this container may be missing.
"""

import os
from collections.abc import Collection, Iterator

from evaluator.judge.device.judging_processes import judging
from evaluator.sandbox.resources.process_tree import parent


class OtherProcesses:
    """Counts other processes. The list of judges takes some milliseconds, and is read only for an unknown process."""

    def __init__(self) -> None:
        self._judges: frozenset[int] | None = frozenset()

    def count(self, on_device: Collection[int] | None) -> int | None:
        """The number of processes on the device that belong to no judge; None if unknown.

        A process belongs to a judge if it or an ancestor is one: a run is the ancestor of its judges, their fork servers and all workers.
        """
        if on_device is None or os.getpid() not in on_device:
            return None
        strangers = self._strangers(on_device)
        if strangers:
            self._judges = judging()
            strangers = self._strangers(strangers)
        # Without the list of judges, an unknown process may be another judge of this run.
        return None if strangers and self._judges is None else len(strangers)

    def _strangers(self, on_device: Collection[int]) -> list[int]:
        known = (self._judges or frozenset()) | {os.getpid()}
        return [pid for pid in on_device if _is_there(pid) and known.isdisjoint(_line(pid))]


def _line(pid: int) -> Iterator[int]:
    """The process and all its ancestors."""
    above: int | None = pid
    while above:
        yield above
        above = parent(above)


def _is_there(pid: int) -> bool:
    """Whether the process still runs, even if it is another user's."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
