"""Functions that tests run inside the sandbox: system calls, sockets, and a program's CPU cores."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluator.sandbox.levels.strict import give_up
from tests.sandbox.entries import answer, argument

_LIBC = ctypes.CDLL(None, use_errno=True)
REFUSED_X86_64 = {
    "process_vm_readv of itself": (310, os.getpid, 0, 0, 0),
    "perf_event_open": (298, 0, 0, 0, 0),
    "userfaultfd": (323, 0, 0, 0, 0),
    "io_uring_setup": (425, 1, 0, 0, 0),
    "keyctl": (250, 0, 0, 0, 0),
    "pidfd_getfd": (438, 0, 0, 0, 0),
    "kcmp": (312, 0, 0, 0, 0),
    "personality": (135, 0xFFFFFFFF, 0, 0, 0),
    "clock_settime": (227, 0, 0, 0, 0),
    "ioctl TIOCSTI": (16, 0, 0x5412, 0, 0),
    "x32 getpid": (0x40000000 + 39, 0, 0, 0, 0),
}
"""Number and arguments of calls that honest libraries may try."""
DEADLY_X86_64 = {
    "ptrace": (101, 16, 1, 0, 0),
    "process_vm_readv": (310, 1, 0, 0, 0),
    "process_vm_writev": (311, 1, 0, 0, 0),
    "mount": (165, 0, 0, 0, 0),
    "umount2": (166, 0, 0, 0, 0),
    "fsopen": (430, 0, 0, 0, 0),
    "unshare user": (272, 0x10000000, 0, 0, 0),
    "unshare mount, with more": (272, 0x20600, 0, 0, 0),
    "unshare time": (272, 0x80, 0, 0, 0),
    "setns": (308, 0, 0, 0, 0),
    "clone user": (56, 0x10000000 | 17, 0, 0, 0),
    "pivot_root": (155, 0, 0, 0, 0),
    "chroot": (161, 0, 0, 0, 0),
    "bpf": (321, 0, 0, 0, 0),
    "open_by_handle_at": (304, 0, 0, 0, 0),
    "finit_module": (313, 0, 0, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "reboot": (169, 0, 0, 0, 0),
    "ioperm": (173, 0, 0, 0, 0),
}
"""Calls that only serve to escape or to spy."""
HARMLESS_X86_64 = {"unshare files": (272, 0x400, 0, 0, 0), "clone": (56, 17, 0, 0, 0)}


def call_system(fds: dict[str, int]) -> None:
    """Make each of the calls named in a process of its own: the errno that it gave, 0 for none, or the signal that ended the process."""
    calls = {**REFUSED_X86_64, **DEADLY_X86_64, **HARMLESS_X86_64}
    answer({name: _fate(calls[name]) for name in argument()})


def call_system_itself(fds: dict[str, int]) -> None:
    """Make the call named in this very process; its errno."""
    answer(_make_call({**REFUSED_X86_64, **DEADLY_X86_64}[argument()]))


def _fate(call: tuple[Any, ...]) -> int | str:
    child = os.fork()
    if not child:
        os._exit(_make_call(call))
    status = os.waitpid(child, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _make_call(numbers: tuple[Any, ...]) -> int:
    parent = os.getpid()
    _LIBC.syscall.restype = ctypes.c_long
    ctypes.set_errno(0)
    result = _LIBC.syscall(*(ctypes.c_long(number() if callable(number) else number) for number in numbers))
    if os.getpid() != parent:  # a clone that worked
        os._exit(0)
    return ctypes.get_errno() if result < 0 else 0


def reach_from_a_child(fds: dict[str, int]) -> int:
    """Answer what a child process reaches after it gave up all rights but `remains`."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    give_up([(path, access) for path, access in argument()["remains"]])
    attempts = {
        "a socket": _reach_own_socket,
        "another process": Path(f"/proc/{argument()['pid']}/cmdline").read_bytes,
        "itself": Path("/proc/self/status").read_bytes,
        "its folder": Path("written").touch,
        "the system": lambda: os.listdir("/usr"),  # noqa: PTH208
    }
    answer({name: _succeeds(attempt) for name, attempt in attempts.items()})
    sys.stdout.flush()
    os._exit(0)


def _reach_own_socket() -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(b"\0assay-test-" + os.urandom(8).hex().encode())
        server.listen()
        client.connect(server.getsockname())


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def use_sockets(fds: dict[str, int]) -> None:
    found = {}
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):
        try:
            socket.socket(family, socket.SOCK_DGRAM).close()
            found[family.name] = "opened"
        except OSError as error:
            found[family.name] = type(error).__name__
    one, other = socket.socketpair()
    one.sendall(b"x")
    found["pair"] = other.recv(1).decode()
    answer(found)


def cores(fds: dict[str, int]) -> None:
    """Where this process, a thread and a child of it may run, what comes of asking for the cores of ARG, and where they may run then."""
    answer({"at first": _everywhere(), "asked": _ask_for(argument()), "then": _everywhere()})


def _everywhere() -> list[Any]:
    found = [sorted(os.sched_getaffinity(0))]
    thread = threading.Thread(target=lambda: found.append(sorted(os.sched_getaffinity(0))))
    thread.start()
    thread.join()
    return [*found, int(subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout)]


def _ask_for(wanted: list[int]) -> list[str]:
    """The main thread, another one, and a child that asks for its parent."""
    told = [_attempt(0, wanted)]
    thread = threading.Thread(target=lambda: told.append(_attempt(0, wanted)))
    thread.start()
    thread.join()
    child = os.fork()
    if not child:
        os._exit(int(_attempt(os.getppid(), wanted) == "done"))
    return [*told, "done" if os.waitpid(child, 0)[1] else "refused"]


def _attempt(thread: int, wanted: list[int]) -> str:
    try:
        os.sched_setaffinity(thread, wanted)
    except PermissionError:
        return "refused"
    return "done"
