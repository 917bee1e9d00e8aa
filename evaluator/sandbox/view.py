"""The file system that a confined program sees.

The view is a list of entries, one path each; namespaces mount it, bubblewrap gets it as arguments, Landlock as rules. Paths without an
entry are not visible: homes, the project, its database, other submissions, /run, /var.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from evaluator.sandbox.program import Program, SandboxUnavailable

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "nsswitch.conf")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_DEV = Path("/dev")
_GPU_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps")
_HARDWARE = "/sys/devices/system"
"""Counts of CPUs and memory nodes, which numerical libraries read."""
PROJECT_ROOT = Path(__file__).resolve().parents[2]
_PROJECT_PARTS = ("evaluator", "db", "reference", "submissions", "benchmarks", "tests", "web", "pipeline.py", "assay.db", ".git")
_WORKER_HOME = "/tmp"
_INSTALLED = ("site-packages", "dist-packages")
"""Names of folders of installed packages."""


class Kind(StrEnum):
    """How a path is made visible."""

    READONLY = "readonly"
    WRITABLE = "writable"
    DEVICE = "device"
    TMPFS = "tmpfs"
    TEXT = "text"
    LINK = "link"
    HIDDEN = "hidden"


@dataclass(frozen=True)
class ViewEntry:
    """One path of the view."""

    target: str
    """Where the program sees it."""
    kind: Kind
    source: str = ""
    """Host path without symbolic links; for a LINK its target, for a TEXT the content, for HIDDEN the covered host path."""
    size_bytes: int = 0
    """Size of a TMPFS."""

    @property
    def depth(self) -> int:
        return len(PurePosixPath(self.target).parts)


def python_paths() -> tuple[str, ...]:
    """Folders of this interpreter and its installed packages."""
    packages = [path for path in sys.path if Path(path).name in _INSTALLED and Path(path).is_dir()]
    return tuple(dict.fromkeys([sys.prefix, sys.base_prefix, sys.exec_prefix, *packages]))


def search_path() -> list[str]:
    """Python's search path without the project's folder, unless that is where pip installs all packages."""
    return [path for path in sys.path if path and (Path(path) != PROJECT_ROOT or Path(path).name in _INSTALLED)]


def compose(program: Program, user: int, extra: tuple[ViewEntry, ...] = ()) -> list[ViewEntry]:
    """The view of `program` run as `user` (its number inside), parents before children.

    Raises SandboxUnavailable if a path that the program names does not exist.
    """
    entries = {entry.target: entry for entry in _standard(program, user)}
    readonly = [*program.readonly, *([program.preload] if program.preload else [])]
    for kind, paths in ((Kind.READONLY, python_paths()), (Kind.READONLY, readonly), (Kind.WRITABLE, program.writable)):
        for path in paths:
            entries.update((entry.target, entry) for entry in _bound(path, kind))
    entries.update((entry.target, entry) for entry in extra)
    visible = _without_covered(entries)
    return sorted([*visible, *_hidden(program, visible)], key=lambda entry: entry.depth)


def _standard(program: Program, user: int) -> Iterator[ViewEntry]:
    for path in (*_SYSTEM, *(f"/etc/{name}" for name in _ETC)):
        if os.path.islink(path):  # noqa: PTH114 - strings throughout: this runs for every child
            yield ViewEntry(path, Kind.LINK, os.readlink(path))  # noqa: PTH115
        elif os.path.exists(path):  # noqa: PTH110
            yield ViewEntry(path, Kind.READONLY, path)
    yield ViewEntry("/etc/passwd", Kind.TEXT, f"root:x:0:0::/:/sbin/nologin\nworker:x:{user}:{user}::{_WORKER_HOME}:/bin/sh\n")
    yield ViewEntry("/etc/group", Kind.TEXT, f"root:x:0:\nworker:x:{user}:\n")
    if Path(_HARDWARE).is_dir():
        yield ViewEntry(_HARDWARE, Kind.READONLY, _HARDWARE)
    for path in (_WORKER_HOME, "/dev/shm"):
        links, real = _way(path)
        yield from links
        yield ViewEntry(real, Kind.TMPFS, size_bytes=program.limits.tmp_bytes)
    for name in _DEVICES:
        yield ViewEntry(f"/dev/{name}", Kind.DEVICE, f"/dev/{name}")
    gpus = "nvidia[0-9]*" if program.gpu_minor is None else f"nvidia{program.gpu_minor}"
    for pattern in (gpus, *_GPU_DEVICES) if program.gpu else ():
        for node in _DEV.glob(pattern):
            yield ViewEntry(str(node), Kind.DEVICE, str(node))


def _bound(path: str, kind: Kind) -> Iterator[ViewEntry]:
    """A host path, and the links on the way there."""
    if not os.path.exists(path):  # noqa: PTH110
        raise SandboxUnavailable(f"the program needs {path}, which does not exist")
    links, real = _way(path)
    yield from links
    yield ViewEntry(real, kind, real)


def _way(path: str) -> tuple[list[ViewEntry], str]:
    """Each symbolic link on the way to a host path, and its real place. With the links, any name of a path holds inside too: an environment
    below a linked home is named by the link's path, and by the real one."""
    links: list[ViewEntry] = []
    place, ahead = "/", _parts(os.path.join(os.getcwd(), path))  # noqa: PTH109, PTH118
    while ahead:
        name = ahead.pop()
        # `place` has no links before this name, so `..` means the same as to the kernel.
        place = os.path.dirname(place) if name == ".." else os.path.join(place, name)  # noqa: PTH118, PTH120
        if os.path.islink(place):  # noqa: PTH114
            text = os.readlink(place)  # noqa: PTH115
            links.append(ViewEntry(place, Kind.LINK, text))
            place = "/" if text.startswith("/") else os.path.dirname(place)  # noqa: PTH120
            ahead += _parts(text)
    return links, place


def _parts(path: str) -> list[str]:
    """The names in a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _above(entry: ViewEntry, entries: dict[str, ViewEntry]) -> ViewEntry | None:
    """The nearest entry over `entry`."""
    return next((entries[str(parent)] for parent in PurePosixPath(entry.target).parents if str(parent) in entries), None)


def _without_covered(entries: dict[str, ViewEntry]) -> list[ViewEntry]:
    """The entries without those that an entry above already shows: read-only ones in a read-only folder, and links."""
    kept: dict[str, ViewEntry] = {}
    for entry in sorted(entries.values(), key=lambda entry: entry.depth):
        above = _above(entry, kept)
        showing = above.kind if above is not None and above.source == above.target else None
        shown = entry.kind is Kind.READONLY and showing is Kind.READONLY
        shown |= entry.kind is Kind.LINK and showing in (Kind.READONLY, Kind.WRITABLE)
        if not shown:
            kept[entry.target] = entry
    return list(kept.values())


def _hidden(program: Program, visible: list[ViewEntry]) -> Iterator[ViewEntry]:
    """Entries that cover the program's hidden paths, and the project's own parts where they would be visible."""
    by_target = {entry.target: entry for entry in visible}
    for path in (*program.hidden, *(str(PROJECT_ROOT / name) for name in _PROJECT_PARTS)):
        real = os.path.realpath(path)
        above = _above(ViewEntry(real, Kind.HIDDEN), by_target)
        if real not in by_target and above and above.kind in (Kind.READONLY, Kind.WRITABLE) and os.path.lexists(real):
            yield ViewEntry(real, Kind.HIDDEN, real)
