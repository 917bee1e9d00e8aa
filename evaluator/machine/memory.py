"""Memory that this process may use."""

import contextlib
import ctypes
import os
from pathlib import Path

from evaluator.machine.control_groups import folders

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Numbers of mallopt's parameters (malloc.h)."""


def machine_bytes(root: Path = Path("/")) -> int:
    """Memory that this process may use: the machine's, or the least limit of its control groups. `root` is where /proc and /sys are."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for folder, is_second in folders("memory", root):
        with contextlib.suppress(OSError, ValueError):  # no such group here, or "max"
            limits.append(int((folder / ("memory.max" if is_second else "memory.limit_in_bytes")).read_text()))
    return min(limits)


def keep_freed_memory() -> None:
    """Have the C library keep up to 1 GiB that this process frees, for its next large tensors: new pages take longer than operators."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_MAX, 0)
        library.mallopt(_M_TRIM_THRESHOLD, 1 << 30)
