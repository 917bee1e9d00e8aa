"""The processes below a process, from /proc."""

import os
from collections import defaultdict
from pathlib import Path

_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


class Lineage:
    """All processes below one.

    A process that was seen elsewhere is not looked at again: orphans go to an ancestor, so only processes born below `root` are there. So
    each look costs as much as there are new processes.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._others: set[int] = set()
        self.found: set[int] = set()
        """Those below `root` at the last look, including zombies, without `root`."""

    def look(self) -> set[int]:
        """Look for them now."""
        present = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208 - pathlib takes three times as long
        self.found &= present
        self._others &= present
        fresh = present - self.found - self._others
        if not fresh:
            return self.found
        children = defaultdict(set)
        for pid in fresh:
            if (above := parent(pid)) is not None:
                children[above].add(pid)
        self.found |= _below({self._root} | self.found, children)
        # A process whose parent ended meanwhile is in neither set: it has another parent at the next look.
        self._others |= _below({0} | self._others, children)
        return self.found


def _below(pids: set[int], children: dict[int, set[int]]) -> set[int]:
    """All processes below these, which are removed from `children`."""
    below: set[int] = set()
    unseen = list(pids)
    while unseen:
        found = children.pop(unseen.pop(), set())
        below |= found
        unseen += found
    return below


def descendants(root: int) -> list[int]:
    """All processes below `root`, including zombies, without `root`."""
    return sorted(Lineage(root).look())


def parent(pid: int) -> int | None:
    """The parent of a process; None if there is no such process."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except _GONE:
        return None
    try:
        # The command, in parentheses, may hold any characters; the parent is the second field after it.
        return int(os.read(descriptor, 4096).rpartition(b")")[2].split()[1])
    except _GONE:
        return None
    finally:
        os.close(descriptor)


def resident_bytes(root: int) -> int:
    """Resident anonymous and shared memory of all below `root`; pages shared after a fork count once per process."""
    return sum(map(_resident_bytes, descendants(root)))


def _resident_bytes(pid: int) -> int:
    try:
        lines = Path("/proc", str(pid), "status").read_text(errors="replace").splitlines()
    except _GONE:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
