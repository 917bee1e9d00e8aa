"""The processes of this machine that judge, or have judges and workers below them, by the kernel's list of locks.

Each of them shares a lock on one file for as long as it lives. /proc/locks names the holders by their numbers in the reader's own PID
namespace, other users' too. So a judge can tell the contexts of other users' judges on its GPU from those of unrelated processes.
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
    """Hold the lock from now until this process ends; the file's inode. Raises OSError."""
    return _hold(os.getpid())


@cache
def _hold(_: int) -> int:
    """Once in each process: a fork would hold its parent's lock, under the parent's number."""
    descriptor = open_shared(Path(tempfile.gettempdir()) / FILE)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return os.fstat(descriptor).st_ino


def judging() -> frozenset[int] | None:
    """All processes that hold the lock, this one among them; None where the kernel does not tell."""
    try:
        inode = announce()
        found = holders(LOCKS.read_text(), inode)
    except OSError:
        return None
    # Some file systems show another inode here than fstat does, and another system may not list locks at all.
    return found if os.getpid() in found else None


def holders(locks: str, inode: int) -> frozenset[int]:
    """Processes that hold a lock of the whole file with this inode, by the text of /proc/locks (proc_locks(5)); not those that wait."""
    fields = (line.split() for line in locks.splitlines())
    return frozenset(int(each[4]) for each in fields if len(each) == 8 and each[1] == "FLOCK" and each[5].rpartition(":")[2] == str(inode))
