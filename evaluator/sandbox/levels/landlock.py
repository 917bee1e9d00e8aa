"""Landlock: rules on files, TCP ports, abstract sockets and signals that a process sets for itself and all that it starts."""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable

from evaluator.sandbox import linux

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
_MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))
WRITE = WRITE_FILE | _MAKE_AND_REMOVE | REFER | TRUNCATE
_FILE_ACCESS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_TCP = 0b11
_SCOPE_ABSTRACT_SOCKET, _SCOPE_SIGNAL = 1, 2

SCOPES_ABI = 6
"""First version that can forbid signals to processes outside."""
RENAME_ABI = 2
"""First version that can allow a rename between directories; the one before forbids them all."""

Rule = tuple[str, int]
"""A path, and the accesses allowed at and below it."""


def abi() -> int:
    """Version of the kernel's interface; 0 for none."""
    try:
        return linux.syscall(_CREATE_RULESET, None, 0, _VERSION)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return 0
        raise


def shortcoming(version: int, *, own_user: bool) -> str:
    """Why Landlock of this version is not enough to confine a program; empty if it is.

    Every version restricts files. Other processes are protected by the program's own user, or by Landlock's scopes.
    """
    if version == 0:
        return "this kernel has no Landlock"
    if not own_user and version < SCOPES_ABI:
        return f"without root, Landlock has to block signals to other processes: version {version} does not, version {SCOPES_ABI} does"
    return ""


def _known_access(version: int) -> int:
    access = (1 << 13) - 1
    for bit, since in ((REFER, 2), (TRUNCATE, 3), (IOCTL_DEV, 5)):
        access |= bit if version >= since else 0
    return access


def restrict(handled: int, rules: Iterable[Rule]) -> None:
    """Deny TCP, and every access in `handled` that `rules` don't allow; from version 6 on also signals and abstract sockets to processes
    outside. Needs no_new_privs. Missing paths are skipped."""
    version = abi()
    handled &= _known_access(version)
    fields = [handled, _TCP, _SCOPE_ABSTRACT_SOCKET | _SCOPE_SIGNAL][: 1 + (version >= 4) + (version >= SCOPES_ABI)]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = linux.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path, access in rules:
            _allow(ruleset, path, access & handled)
        linux.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(target).st_mode):
            access &= _FILE_ACCESS
        if access:
            rule = ctypes.create_string_buffer(struct.pack("=Qi", access, target))
            linux.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.addressof(rule), 0)
    finally:
        os.close(target)
