"""A seccomp filter: system calls that a kernel's host code never needs are refused, or end the process.

Calls that only serve to break out or to spy, and that no library makes unasked, end a submission: its SIGSYS is evidence. Calls that an
honest library may try (a profiler, an allocator, PyTorch where processes share device memory) fail with EPERM. The list denies calls rather
than allowing some, because CUDA's driver library changes its calls with every release. Namespaces and dropped capabilities are the first
defence, and hold without it.
"""

import ctypes
import errno
import os
import socket
import struct

from evaluator.sandbox import linux

DEADLY: dict[str, tuple[int, int]] = {
    # name: (x86_64, aarch64); -1 where the architecture has none
    "ptrace": (101, 117),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "create_module": (174, -1),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "iopl": (172, -1),
    "ioperm": (173, -1),
}
REFUSED: dict[str, tuple[int, int]] = {
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "syslog": (103, 116),
    "personality": (135, 92),
    "vhangup": (153, 58),
    "modify_ldt": (154, -1),
    "_sysctl": (156, -1),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "migrate_pages": (256, 238),
}
_PROCESS_MEMORY = {"process_vm_readv": (310, 270), "process_vm_writev": (311, 271)}
"""Another process's memory. Unwinders read their own with these, to learn whether an address is mapped: such calls are only refused."""
_SET_AFFINITY = (203, 122)
_SOCKET, _CLONE, _UNSHARE, _IOCTL = (41, 198), (56, 220), (272, 97), (16, 29)
_CONNECT, _SENDTO = (42, 203), (44, 206)
_SENDING = {"sendmsg": (46, 211), "sendmmsg": (307, 269)}
"""Calls that can send to an address which a filter can't read."""
_CLONE3 = 435
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
"""Terminal requests that type into the shell of another process."""
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_LOAD_WORD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_OFFSET, _ARCH_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_SECCOMP_MODE_FILTER = 2

Instruction = tuple[int, int, int, int]
"""Operation, instructions to skip if true, if false, and operand: one `struct sock_filter`."""


class _SockFprog(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def program(machine: str, *, reaching_sockets: bool, own: int | None = None, keeps_cores: bool = False) -> list[Instruction]:
    """The filter for an architecture. The only sockets allowed are AF_UNIX ones, which CUDA makes, and binds, when it starts.

    `reaching_sockets` says whether they may reach an address: if the file system is the host's, its servers have addresses there. `own` is
    the process of the filter: a DEADLY call ends it. None: such calls are only refused, as for compilers, whose failure is evidence enough.
    With `keeps_cores` no thread changes the cores that it may run on. Raises KeyError for an architecture without a table.
    """
    column = ("x86_64", "aarch64").index(machine) if machine in _AUDIT_ARCH else -1
    code: list[Instruction] = [
        (_LOAD_WORD, 0, 0, _ARCH_OFFSET),
        (_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD_WORD, 0, 0, _NUMBER_OFFSET),
    ]
    if machine == "x86_64":
        code += [(_JUMP_AT_LEAST, 0, 1, _X32_BIT), _refuse(errno.EPERM)]
    deadly = _refuse(errno.EPERM) if own is None else (_RETURN, 0, 0, _KILL)
    for table, action in ((DEADLY, deadly), (REFUSED, _refuse(errno.EPERM))):
        for number in sorted(row[column] for row in table.values() if row[column] >= 0):
            code += [(_JUMP_EQUAL, 0, 1, number), action]
    if keeps_cores:
        code += [(_JUMP_EQUAL, 0, 1, _SET_AFFINITY[column]), _refuse(errno.EPERM)]
    for row in _PROCESS_MEMORY.values():
        code += _on_argument(row[column], 0, [(_JUMP_EQUAL, 0, 1, own or 0), _refuse(errno.EPERM), deadly])
    # The C library falls back to clone, whose flags can be read by a filter, when clone3 is not there.
    code += [(_JUMP_EQUAL, 0, 1, _CLONE3), _refuse(errno.ENOSYS)]
    code += _on_argument(_CLONE[column], 0, [(_JUMP_ANY_BIT, 0, 1, linux.CLONE_NEW_ANY), deadly])
    code += _on_argument(_UNSHARE[column], 0, [(_JUMP_ANY_BIT, 0, 1, linux.CLONE_NEW_ANY | linux.CLONE_NEWTIME), deadly])
    requests: list[Instruction] = []
    for request in (_TIOCSTI, _TIOCLINUX):
        requests += [(_JUMP_EQUAL, 0, 1, request), _refuse(errno.EPERM)]
    code += _on_argument(_IOCTL[column], 1, requests)
    code += _on_argument(_SOCKET[column], 0, [(_JUMP_EQUAL, 1, 0, socket.AF_UNIX), _refuse(errno.EPERM)])
    if not reaching_sockets:
        # As if no server listened, which programs that look for one expect; a length of 0 is no address.
        code += [(_JUMP_EQUAL, 0, 1, _CONNECT[column]), _refuse(errno.ECONNREFUSED)]
        code += _on_argument(_SENDTO[column], 5, [(_JUMP_EQUAL, 1, 0, 0), _refuse(errno.EPERM)])
        for number in sorted(row[column] for row in _SENDING.values()):
            code += [(_JUMP_EQUAL, 0, 1, number), _refuse(errno.EPERM)]
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _refuse(code: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


def _on_argument(number: int, index: int, checks: list[Instruction]) -> list[Instruction]:
    """`checks` on the low half of an argument of one system call; continues with the next, the call's number loaded again."""
    load: Instruction = (_LOAD_WORD, 0, 0, _ARGUMENTS_OFFSET + 8 * index)
    restore: Instruction = (_LOAD_WORD, 0, 0, _NUMBER_OFFSET)
    body = [load, *checks, restore]
    return [(_JUMP_EQUAL, 0, len(body), number), *body]


def supported() -> bool:
    """Whether there is a table for this machine's architecture."""
    return linux.machine() in _AUDIT_ARCH


def install(*, reaching_sockets: bool, deadly: bool, keeps_cores: bool = False) -> None:
    """Install the filter for this thread and all that it starts; needs no_new_privs. Raises OSError if the kernel has no seccomp.

    `deadly` says whether a DEADLY call ends the process or is only refused; `keeps_cores`: as for `program`.
    """
    own = os.getpid() if deadly else None
    code = program(linux.machine(), reaching_sockets=reaching_sockets, own=own, keeps_cores=keeps_cores)
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
    structure = _SockFprog(len(packed) // 8, packed)
    linux.prctl(linux.PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(structure))
