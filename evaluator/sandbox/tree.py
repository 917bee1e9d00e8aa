"""The processes below a process, as /proc tells them."""

from collections import defaultdict
from pathlib import Path

_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def descendants(root: int) -> list[int]:
    """All processes below `root`, zombies too, `root` not included."""
    children = defaultdict(list)
    for entry in Path("/proc").iterdir():
        above = parent(int(entry.name)) if entry.name.isdigit() else None
        if above is not None:
            children[above].append(int(entry.name))
    found, unseen = [], [root]
    while unseen:
        below = children[unseen.pop()]
        found += below
        unseen += below
    return found


def parent(pid: int) -> int | None:
    """The parent of a process; None where there is no such process."""
    try:
        # The command, in parentheses, may hold anything; the parent is the second field after it.
        return int(Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()[1])
    except _GONE:
        return None


def resident_bytes(root: int) -> int:
    """Anonymous and shared memory resident in all below `root`; pages shared after a fork count once for each process."""
    return sum(map(_resident_bytes, descendants(root)))


def _resident_bytes(pid: int) -> int:
    try:
        lines = Path("/proc", str(pid), "status").read_text(errors="replace").splitlines()
    except _GONE:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
