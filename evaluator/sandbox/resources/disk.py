"""Counts, from outside, the disk space of a program's private directory, if that is not a file system of its own."""

import os
import random
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from evaluator.sandbox.resources import process_tree

MAX_ENTRIES = 200_000
"""Names below a directory; a directory with more is over its limit, for any file sizes."""
MAX_DEPTH = 100
"""Nested directories; deeper ones count as over the limit too. Honest caches nest ten."""
_MAX_DESCRIPTORS = 50_000
"""Maximum per look, so that a program with very many open files does not occupy its supervisor."""
_REST = 3
"""Pause after a look, in multiples of its duration, so that a program with many files does not occupy a CPU core."""
_LISTABLE = stat.S_IRUSR | stat.S_IXUSR
_BLOCK_BYTES = 512
"""Unit of st_blocks, stat(2)."""
_GONE = (FileNotFoundError, NotADirectoryError, ProcessLookupError, PermissionError)


@dataclass
class Watch:
    """Looks at one private directory, with the pauses that `_REST` asks for."""

    home: str
    limit_bytes: int
    _rested_s: float = 0.0

    def exceeded(self, supervisor: int) -> bool:
        """Whether the directory and the processes below `supervisor` hold more than the limit; False if it is too early to look."""
        start = time.monotonic()
        if start < self._rested_s:
            return False
        over = exceeds(self.home, process_tree.descendants(supervisor), self.limit_bytes)
        end = time.monotonic()
        self._rested_s = end + _REST * (end - start)
        return over


def exceeds(home: str, pids: Iterable[int], limit_bytes: int) -> bool:
    """Whether the files below `home`, and those deleted there that `pids` have open, take more than `limit_bytes` of disk.

    Allocated blocks count, once per file; links are not followed. Processes that can't be inspected are skipped.
    """
    held = _Held(limit_bytes)
    try:
        _walk(held, home, None, MAX_DEPTH)
        for status in _deleted(os.path.realpath(home) + "/", list(pids)):
            held.add(status)
    except _BeyondLimitError:
        return True
    return False


class _BeyondLimitError(Exception):
    """Ends the count: the limit is exceeded."""


@dataclass
class _Held:
    """The count so far."""

    limit_bytes: int
    used_bytes: int = 0
    entries: int = 0
    seen: set[tuple[int, int]] = field(default_factory=set)
    """Devices and inodes: a file may have several names, and may be renamed or deleted during the count."""

    def add(self, status: os.stat_result) -> None:
        self.entries += 1
        file = (status.st_dev, status.st_ino)
        if file not in self.seen:
            self.seen.add(file)
            self.used_bytes += status.st_blocks * _BLOCK_BYTES
        if self.used_bytes > self.limit_bytes or self.entries > MAX_ENTRIES:
            raise _BeyondLimitError


def _walk(held: _Held, name: str, above: int | None, depth: int) -> None:
    """Count all below a directory, named from the open directory `above`, so that a link put in its place can't lead elsewhere."""
    if not depth:
        raise _BeyondLimitError
    try:
        folder = _opened(name, above)
    except _GONE:
        return
    try:
        with os.scandir(folder) as found:
            for entry in found:
                try:
                    status = entry.stat(follow_symlinks=False)
                except _GONE:
                    continue
                held.add(status)
                if stat.S_ISDIR(status.st_mode):
                    _walk(held, entry.name, folder, depth - 1)
    finally:
        os.close(folder)


def _opened(name: str, above: int | None) -> int:
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        place = f"/proc/self/fd/{handle}"
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if os.getuid() != 0 and mode & _LISTABLE != _LISTABLE:
            os.chmod(place, mode | stat.S_IRWXU)  # noqa: PTH101 - a program can lock out its own user, which is ours too
        return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(handle)


def _deleted(below: str, pids: list[int]) -> Iterator[os.stat_result]:
    """Deleted files that had a name below a directory (its path, with a slash), once per open descriptor.

    The path distinguishes them from memory files, which have no name either: a worker holds its inputs in those.
    """
    random.shuffle(pids)  # if there are too many, no file is always left out
    for descriptor in islice(_descriptors(pids), _MAX_DESCRIPTORS):
        try:
            if os.readlink(descriptor).startswith(below):  # noqa: PTH115 - strings throughout: this runs ten times a second
                status = os.stat(descriptor)  # noqa: PTH116
                if status.st_nlink == 0:
                    yield status
        except _GONE:
            continue


def _descriptors(pids: list[int]) -> Iterator[str]:
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208
        except _GONE:
            continue
        yield from (f"/proc/{pid}/fd/{name}" for name in names)
