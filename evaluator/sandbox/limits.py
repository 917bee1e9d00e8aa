"""Resource limits of one confined program."""

import resource
from dataclasses import dataclass
from pathlib import Path

_GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Limits of one program and all that it starts."""

    memory_bytes: int = 16 * _GIB
    """Memory of the whole tree; beyond it the tree is killed and `Exit.memory_exceeded` is set. Device memory does not count."""
    processes: int = 1024
    """Processes and threads at one time."""
    file_bytes: int = 4 * _GIB
    """Size of one file that it writes."""
    open_files: int = 4096
    cpu_s: int = 3600
    """CPU time of one process."""
    tmp_bytes: int = 2 * _GIB
    """Size of its own /tmp and of its own /dev/shm. Without these, size of its private directory: beyond it the tree is killed and
    `Exit.disk_exceeded` is set."""
    output_bytes: int = 256 << 10
    """Bytes kept of standard output, and of standard error."""


def apply_rlimits(limits: Limits, *, processes: int) -> None:
    """Set the limits that the kernel keeps per process; `processes` is RLIMIT_NPROC, which counts per user.

    Address space has no limit: CUDA reserves far more than there is memory. Nor has RLIMIT_DATA; a cgroup or the supervisor limits memory.
    """
    _lower(resource.RLIMIT_NPROC, processes)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    _lower(resource.RLIMIT_CPU, limits.cpu_s, hard=limits.cpu_s + 1)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(kind: int, soft: int, *, hard: int | None = None) -> None:
    ceiling = resource.getrlimit(kind)[1]
    wanted = soft if hard is None else hard
    hard = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
    resource.setrlimit(kind, (min(soft, hard), hard))


def threads_of_user(uid: int) -> int:
    """Threads that run as `uid` now: the count for RLIMIT_NPROC outside an own user namespace."""
    count = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == uid:
                    count += sum(1 for _ in (entry / "task").iterdir())
            except (FileNotFoundError, PermissionError, ProcessLookupError):
                continue
    return count
