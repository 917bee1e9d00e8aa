"""The processes below a process, as /proc tells them."""

from collections import defaultdict
from pathlib import Path

_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def descendants(root: int) -> list[int]:
    """All processes below `root`, zombies too, `root` not included."""
    children = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The command, in parentheses, may hold anything; the parent is the second field after it.
                parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[1]
            except _GONE:
                continue
            children[int(parent)].append(int(entry.name))
    found, unseen = [], [root]
    while unseen:
        below = children[unseen.pop()]
        found += below
        unseen += below
    return found


def resident_bytes(root: int) -> int:
    """Anonymous and shared memory resident in `root` and all below it; pages shared after a fork count once for each process."""
    return sum(_resident_bytes(pid) for pid in (root, *descendants(root)))


def _resident_bytes(pid: int) -> int:
    try:
        lines = Path("/proc", str(pid), "status").read_text(errors="replace").splitlines()
    except _GONE:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
