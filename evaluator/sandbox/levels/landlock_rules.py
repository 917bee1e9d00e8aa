"""Landlock's rules for a view: without namespaces, all paths outside the view are forbidden."""

import os
from collections.abc import Iterator

from evaluator.sandbox.levels import landlock
from evaluator.sandbox.view import Kind, ViewEntry

_PROC = ("self", "cpuinfo", "meminfo", "stat", "devices", "filesystems", "modules", "version", "driver/nvidia", "sys/kernel", "sys/vm")
_OWN_PROCESS = landlock.WRITE_FILE | landlock.TRUNCATE
_DEVICE = landlock.READ_FILE | landlock.WRITE_FILE | landlock.IOCTL_DEV | landlock.READ_DIR


def for_view(entries: list[ViewEntry], home: str, *, lax: bool = False) -> Iterator[landlock.Rule]:
    """Allowed accesses below each path of the view, and all below `home`. `lax` opens the /proc of all processes, not only its own.

    If part of a visible directory is hidden, its names can be listed but its files can't be read.
    """
    hidden = [entry.source for entry in entries if entry.kind is Kind.HIDDEN]
    yield home, landlock.READ | landlock.WRITE
    yield from own_processes()
    if lax:
        yield "/proc", landlock.READ | _OWN_PROCESS
    for entry in entries:
        if entry.kind is Kind.READONLY:
            yield from _except(entry.source, landlock.READ, hidden)
        elif entry.kind is Kind.WRITABLE:
            yield from _except(entry.source, landlock.READ | landlock.WRITE, hidden)
        elif entry.kind is Kind.DEVICE:
            yield entry.source, _DEVICE
        elif entry.kind is Kind.TEXT:
            yield entry.target, landlock.READ


def own_processes() -> Iterator[landlock.Rule]:
    """Allowed accesses in /proc: `self` is the process that restricts itself."""
    for name in _PROC:
        yield f"/proc/{name}", landlock.READ | (_OWN_PROCESS if name == "self" else 0)


def _except(path: str, access: int, hidden: list[str]) -> Iterator[landlock.Rule]:
    """`access` below `path`, split into rules for everything beside the hidden paths, since a rule can't be withdrawn further down."""
    if path in hidden:
        return
    if not any(place.startswith(path.rstrip("/") + "/") for place in hidden):
        yield path, access
        return
    yield path, access & landlock.READ_DIR
    with os.scandir(path) as found:
        for item in found:
            if not item.is_symlink():
                yield from _except(item.path, access, hidden)
