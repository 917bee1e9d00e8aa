"""Finds the processes of this machine that judge, or are ancestors of judges and workers, in Linux's list of locks; and counts others on a
GPU.

Each of them holds a shared lock on one file for its whole life. /proc/locks lists the holders by their ids in the reader's PID namespace,
including other users'. So a judge can distinguish other users' judges on its GPU from unrelated processes.

The driver lists processes with a context on the GPU. The listed ids depend on driver and machine. NVIDIA's open kernel modules list the
processes that the caller can see, by their ids in its PID namespace, including workers in namespaces below it. The closed modules list all,
by their ids in the outermost namespace. In some virtual machines and containers the list is empty. So the judge uses it only if it contains
this process, which has a context of its own. Even then processes outside of this container may be missing.
"""

import fcntl
import os
import tempfile
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from evaluator.judge.device.device_lock import open_shared
from evaluator.sandbox.resources.process_tree import parent

LOCKS = Path("/proc/locks")
FILE = "assay-judges.lock"


def announce() -> int:
    """Hold the lock from now until this process ends. Returns the file's inode. Raises OSError."""
    return _hold(os.getpid())


@cache
def _hold(_: int) -> int:
    """Take the lock once per process: a fork would hold its parent's lock, under the parent's id."""
    descriptor = open_shared(Path(tempfile.gettempdir()) / FILE)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return os.fstat(descriptor).st_ino


def judging() -> frozenset[int] | None:
    """All processes that hold the lock, including this one; None if Linux does not list them."""
    try:
        inode = announce()
        found = holders(LOCKS.read_text(), inode)
    except OSError:
        return None
    # Some file systems show another inode here than fstat does. Other systems may not list locks.
    return found if os.getpid() in found else None


def holders(locks: str, inode: int) -> frozenset[int]:
    """Processes that hold a lock on the whole file with this inode, from the text of /proc/locks (proc_locks(5)); without waiting ones."""
    fields = (line.split() for line in locks.splitlines())
    return frozenset(int(each[4]) for each in fields if len(each) == 8 and each[1] == "FLOCK" and each[5].rpartition(":")[2] == str(inode))


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
