"""Linux system calls and constants that Python's standard library lacks.

Every function raises OSError with the kernel's errno. Architectures: x86_64 and aarch64.
"""

import ctypes
import errno
import os
import platform
import re
import signal
import struct
from dataclasses import dataclass
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
CLONE_NEW_ANY = 0x7E020000
"""Every CLONE_NEW* flag that clone(2) takes."""
CLONE_NEWTIME = 0x80
"""Only for unshare(2): in clone(2) this flag is part of a signal's number."""

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

_LIBC = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MACHINE = platform.machine()
_PIVOT_ROOT, _KEYCTL = {"x86_64": (155, 250), "aarch64": (41, 219)}.get(_MACHINE, (-1, -1))
_MOUNT_SETATTR = 442
_OCTAL = re.compile(rb"\\([0-7]{3})")
_CAPABILITY_VERSION_3 = 0x20080522
_KEYCTL_JOIN_SESSION_KEYRING = 1


def machine() -> str:
    """The machine's architecture, from uname."""
    return _MACHINE


def release() -> tuple[int, int]:
    """Version of the running kernel."""
    major, minor = re.findall(r"\d+", platform.release())[:2]
    return int(major), int(minor)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """Call the kernel directly; bytes are passed by address."""
    packed = [ctypes.c_char_p(value) if isinstance(value, bytes | None) else ctypes.c_long(value) for value in arguments]
    return _checked(_LIBC.syscall(ctypes.c_long(number), *packed), f"syscall {number}")


def prctl(option: int, value: int = 0, third: int = 0) -> None:
    """prctl(2) with up to two arguments."""
    zero = ctypes.c_ulong(0)
    _checked(_LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), ctypes.c_ulong(third), zero, zero), f"prctl {option}")


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name."""
    _checked(_LIBC.unshare(ctypes.c_int(flags)), f"unshare {flags:#x}")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """mount(2)."""
    encoded = [value if value is None else os.fsencode(value) for value in (source, target, kind, data)]
    _checked(_LIBC.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]), f"mount {source or kind} on {target}")


def detach(target: str) -> None:
    """Take a mount and all below it out of the tree, at once."""
    _checked(_LIBC.umount2(os.fsencode(target), ctypes.c_int(MNT_DETACH)), f"umount {target}")


def pivot_root(new_root: str, old_root: str) -> None:
    """pivot_root(2)."""
    _checked(_LIBC.syscall(ctypes.c_long(_PIVOT_ROOT), os.fsencode(new_root), os.fsencode(old_root)), f"pivot_root {new_root}")


def set_mount_attributes(path: str, attributes: int, *, recursive: bool = True) -> None:
    """Add MOUNT_ATTR_* flags to the mount at `path`, and to all below it; falls back to remounts before Linux 5.12."""
    structure = struct.pack("=QQQQ", attributes, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    try:
        syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), flags, structure, len(structure))
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        for point in mount_points_below(path) if recursive else [path]:
            # A user namespace may not remove flags that the mount had outside it, so the old ones are set again.
            mount(None, point, None, MS_REMOUNT | MS_BIND | attributes | _kept_flags(point))


def _kept_flags(path: str) -> int:
    # ST_* of statvfs and MS_* agree for rdonly, nosuid, nodev, noexec (1 to 8) and noatime, nodiratime (1024, 2048); relatime differs.
    flags = os.statvfs(path).f_flag
    return flags & (1 | 2 | 4 | 8 | 1024 | 2048) | (1 << 21 if flags & 4096 else 0)


@dataclass(frozen=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    root: str
    """The part of its file system that is mounted."""
    point: str
    kind: str
    super_options: frozenset[str]


def mounts() -> list[Mount]:
    """The mounts of this mount namespace, in the order of mounting."""
    found = []
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        front, _, back = line.partition(b" - ")
        kind, _, options = back.split(b" ")[:3]
        root, point = (os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match[1], 8)]), part)) for part in front.split(b" ")[3:5])
        found.append(Mount(root, point, kind.decode(), frozenset(options.decode().split(","))))
    return found


def mount_points_below(path: str) -> list[str]:
    """Mount points of this mount namespace at or below `path`, outermost first."""
    return sorted({mount.point for mount in mounts() if mount.point == path or mount.point.startswith(path.rstrip("/") + "/")})


def die_with_parent(number: signal.Signals) -> None:
    """Have the kernel send `number` to this process when its parent ends; a change of credentials undoes it."""
    prctl(PR_SET_PDEATHSIG, number)


def new_session_keyring() -> None:
    """Leave the keyring of the process that started this one; does nothing on a kernel without keys."""
    try:
        syscall(_KEYCTL, _KEYCTL_JOIN_SESSION_KEYRING, None)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EDQUOT):
            raise


def drop_bounding_set() -> None:
    """Remove every capability from the bounding set, if this process may."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.EPERM):  # past the last capability of this kernel, or without the right to drop it
                return
            raise


def drop_capabilities() -> None:
    """Give up every capability of this thread: ambient, inheritable, permitted and effective."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header, nothing = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24)
    _checked(_LIBC.capset(ctypes.c_char_p(header), ctypes.c_char_p(nothing)), "capset")
