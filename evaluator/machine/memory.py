"""Memory that this process may use, and the folders of its control groups, with their limits."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def machine_bytes(root: Path = Path("/")) -> int:
    """Memory that this process may use: the machine's, or the least limit of its control groups. `root` is where /proc and /sys are."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for folder, is_second in folders("memory", root):
        with contextlib.suppress(OSError, ValueError):  # no such group here, or "max"
            limits.append(int((folder / ("memory.max" if is_second else "memory.limit_in_bytes")).read_text()))
    return min(limits)


def folders(controller: str, root: Path = Path("/")) -> Iterator[tuple[Path, bool]]:
    """The group's folder and all above it, for every possible mount point, each with whether it is in version 2's hierarchy.

    A container may see its own group as the root, so folders may be missing. `root` is where /proc and /sys are.
    """
    own = root / "proc/self/cgroup"
    mounted = root / "sys/fs/cgroup"
    for line in own.read_text().splitlines() if own.exists() else ():
        _, controllers, group = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        for mount in dict.fromkeys([mounted / controllers, mounted / controller] if controllers else [mounted, mounted / "unified"]):
            place = mount / group.lstrip("/")
            for folder in (place, *place.parents):
                if not folder.is_relative_to(mount):
                    break
                yield folder, not controllers
