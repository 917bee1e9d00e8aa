"""Finds the processes of this machine that judge, or are ancestors of judges and workers, in Linux's list of locks.

Each of them holds a shared lock on one file for its whole life. /proc/locks lists the holders by their ids in the reader's PID namespace,
including other users'. So a judge can distinguish other users' judges on its GPU from unrelated processes.
"""

import fcntl
import os
import tempfile
from functools import cache
from pathlib import Path

from evaluator.judge.device.device_lock import open_shared

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
