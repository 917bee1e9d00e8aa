"""Namespaces: a process tree with its own mounts, processes, network and IPC, and a root that holds only the view.

The supervisor leaves the PID namespace (an ordinary user: also the user namespace) and forks; its child leaves the rest, builds the new
root, changes into it and drops the old one. Pivoting twice, as bubblewrap does, allows building the new root on a tmpfs without hiding the
files under that tmpfs's first mount point.
"""

import os
import socket
from pathlib import Path

from evaluator.sandbox import linux
from evaluator.sandbox.view import Kind, ViewEntry

NOBODY = 65534
"""The user, inside, of programs whose fork server runs as an ordinary user."""

_BASE, _OLD, _NEW = "/tmp", "/oldroot", "/newroot"
_RESTRICTED = linux.MS_NOSUID | linux.MS_NODEV
_READONLY = linux.MOUNT_ATTR_RDONLY | linux.MOUNT_ATTR_NOSUID | linux.MOUNT_ATTR_NODEV


def leave_processes() -> None:
    """The caller's next child is process 1 of a new PID namespace; an ordinary user also becomes NOBODY of a user namespace of its own."""
    user, group = os.getuid(), os.getgid()
    if user == 0:
        linux.unshare(linux.CLONE_NEWPID)
        return
    linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWPID)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")


def enter(view: list[ViewEntry]) -> None:
    """Leave the other namespaces and make `view` the whole root; called by process 1 of the PID namespace."""
    linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWIPC | linux.CLONE_NEWNET | linux.CLONE_NEWUTS)
    socket.sethostname("assay")
    os.umask(0o022)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("tmpfs", _BASE, "tmpfs", _RESTRICTED, "mode=0755,size=4m")
    os.chdir(_BASE)
    Path(_BASE + _NEW).mkdir()
    Path(_BASE + _OLD).mkdir()
    linux.pivot_root(".", "." + _OLD)
    os.chdir("/")
    linux.mount("tmpfs", _NEW, "tmpfs", _RESTRICTED, "mode=0755,size=4m")
    for entry in view:
        _add(entry)
    Path(_NEW + "/proc").mkdir()
    linux.mount(
        "proc", _NEW + "/proc", "proc", _RESTRICTED | linux.MS_NOEXEC
    )  # while the old one is there: a user may not mount it otherwise
    linux.set_mount_attributes(_NEW, linux.MOUNT_ATTR_RDONLY, recursive=False)
    os.chdir(_NEW)
    linux.pivot_root(".", ".")
    linux.detach(".")
    os.chdir("/")


def _add(entry: ViewEntry) -> None:
    target, source = _NEW + entry.target, _OLD + entry.source
    if entry.kind is Kind.LINK:
        _make_parent(target)
        os.symlink(entry.source, target)  # noqa: PTH211 - the text of the link is not a path of ours
    elif entry.kind is Kind.TEXT:
        _make_parent(target)
        Path(target).write_text(entry.source)
    elif entry.kind is Kind.TMPFS:
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
        linux.mount("tmpfs", target, "tmpfs", _RESTRICTED, f"mode=1777,size={entry.size_bytes}")
    elif entry.kind is Kind.HIDDEN:
        _cover(target)
    else:
        _bind(source, target, entry.kind)


def _bind(source: str, target: str, kind: Kind) -> None:
    if not os.path.lexists(target):
        if os.path.isdir(source):  # noqa: PTH112
            os.makedirs(target)  # noqa: PTH103
        else:
            _make_parent(target)
            Path(target).touch()
    linux.mount(source, target, None, linux.MS_BIND | linux.MS_REC)
    if kind is Kind.READONLY:
        linux.set_mount_attributes(target, _READONLY)
    elif kind is Kind.WRITABLE:
        linux.set_mount_attributes(target, linux.MOUNT_ATTR_NOSUID | linux.MOUNT_ATTR_NODEV)


def _cover(target: str) -> None:
    if os.path.isdir(target):  # noqa: PTH112
        linux.mount("tmpfs", target, "tmpfs", _RESTRICTED | linux.MS_RDONLY, "mode=0555,size=4k")
    else:
        linux.mount(_OLD + "/dev/null", target, None, linux.MS_BIND)


def _make_parent(target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
