"""The control groups of this process, as the folders with their limits."""

from collections.abc import Iterator
from pathlib import Path


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
