"""Memory that this process may use."""

import contextlib
import os
from pathlib import Path

from evaluator.machine.control_groups import folders


def machine_bytes(root: Path = Path("/")) -> int:
    """Memory that this process may use: the machine's, or the least limit of its control groups. `root` is where /proc and /sys are."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for folder, is_second in folders("memory", root):
        with contextlib.suppress(OSError, ValueError):  # no such group here, or "max"
            limits.append(int((folder / ("memory.max" if is_second else "memory.limit_in_bytes")).read_text()))
    return min(limits)
