"""Other processes on a GPU: those that belong neither to this judge nor to another judge of the machine, which waits for its turn.

The driver lists processes with a context on the GPU. Their numbers depend on driver and machine. NVIDIA's open kernel modules list
the processes that the asking one can see, by their numbers in its PID namespace, workers in namespaces below it too. The closed modules
list all, by their numbers in the outermost namespace. In some virtual machines and containers the list is empty. So it is believed only
where this process, which has a context of its own, is on it. Even then processes outside of this container may be missing from it.
"""

import os
from collections.abc import Collection, Iterator

from evaluator.judge.device.judging_processes import judging
from evaluator.sandbox.resources.process_tree import parent


class OtherProcesses:
    """Counts them. The list of judges takes some milliseconds, and is read only where an unknown process is met."""

    def __init__(self) -> None:
        self._judges: frozenset[int] | None = frozenset()

    def count(self, on_device: Collection[int] | None) -> int | None:
        """How many of the processes on the device belong to no judge; None where that can't be told.

        A process belongs to a judge that is one, or has one above it: the pipeline is above its judges, their zygote and all workers.
        """
        if on_device is None or os.getpid() not in on_device:
            return None
        strangers = self._strangers(on_device)
        if strangers:
            self._judges = judging()
            strangers = self._strangers(strangers)
        # Without the list of judges, a stranger may be another judge of this pipeline's.
        return None if strangers and self._judges is None else len(strangers)

    def _strangers(self, on_device: Collection[int]) -> list[int]:
        known = (self._judges or frozenset()) | {os.getpid()}
        return [pid for pid in on_device if _is_there(pid) and known.isdisjoint(_line(pid))]


def _line(pid: int) -> Iterator[int]:
    """The process and all above it."""
    above: int | None = pid
    while above:
        yield above
        above = parent(above)


def _is_there(pid: int) -> bool:
    """Whether the process still runs, be it another user's."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
