"""What the tests run inside the sandbox. Arguments come in the environment as ARG (JSON); answers go to standard output as JSON."""

import ctypes
import json
import mmap
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluator.sandbox.levels.strict import give_up

_LIBC = ctypes.CDLL(None, use_errno=True)
IMPORTED_IN = os.getpid()
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
"""Calls that only serve to break out or to spy."""
HARMLESS_X86_64 = {"unshare files": (272, 0x400, 0, 0, 0), "clone": (56, 17, 0, 0, 0)}


def _argument() -> Any:
    return json.loads(os.environ["ARG"])


def _answer(value: object) -> None:
    print(json.dumps(value))


def seven(fds: dict[str, int]) -> int:
    return 7


def nothing(fds: dict[str, int]) -> None:
    print("héllo")


def echo(fds: dict[str, int]) -> int:
    with socket.socket(fileno=fds["channel"]) as channel:
        channel.sendall(channel.recv(100)[::-1])
    Path(f"/proc/self/fd/{fds['file']}").read_bytes()
    return os.lseek(fds["file"], 0, os.SEEK_END)


def describe(fds: dict[str, int]) -> None:
    """What a curious program finds out about where it is."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    _answer(
        {
            "uid": os.getuid(),
            "gid": os.getgid(),
            "groups": os.getgroups(),
            "cwd": str(Path.cwd()),
            "environment": dict(os.environ),
            "first_environment": Path("/proc/self/environ").read_bytes().decode(),
            "descriptors": sorted(int(name) for name in _names("/proc/self/fd")),
            "processes": _processes(),
            "capabilities": {name: status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
            "no_new_privs": status["NoNewPrivs"].strip(),
            "seccomp": status["Seccomp"].strip(),
            "path": sys.path,
            "argv": sys.argv,
            "warm": os.getpid() != IMPORTED_IN,
            "random": random.random(),
            "core": _limit("core"),
            "limits": {name: _limit(name) for name in ("fsize", "nofile", "cpu", "as")},
        }
    )


def _processes() -> list[int]:
    try:
        return sorted(int(name) for name in _names("/proc") if name.isdigit())
    except PermissionError:
        return []


def _limit(name: str) -> int:
    return resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[0]


def _names(path: str) -> list[str]:
    return [entry.name for entry in Path(path).iterdir()]


def look(fds: dict[str, int]) -> None:
    """For each path: its names or its size, or the error's name."""
    found: dict[str, object] = {}
    for path in _argument():
        try:
            found[path] = sorted(_names(path)) if Path(path).is_dir() else len(Path(path).read_bytes())
        except OSError as error:
            found[path] = type(error).__name__
    _answer(found)


def write(fds: dict[str, int]) -> None:
    """For each directory: "written", or the error's name."""
    found = {}
    for directory in _argument():
        try:
            Path(directory, "assay-was-here").write_text("x")
            found[directory] = "written"
        except OSError as error:
            found[directory] = type(error).__name__
    _answer(found)


def call_system(fds: dict[str, int]) -> None:
    """Make each of the calls named in a process of its own: the errno that it gave, 0 for none, or the signal that ended the process."""
    calls = {**REFUSED_X86_64, **DEADLY_X86_64, **HARMLESS_X86_64}
    _answer({name: _fate(calls[name]) for name in _argument()})


def call_system_itself(fds: dict[str, int]) -> None:
    """Make the call named in this very process; its errno."""
    _answer(_make_call({**REFUSED_X86_64, **DEADLY_X86_64}[_argument()]))


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
    """Answers, for a child that first keeps to what `remains`: what it can reach."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    give_up([(path, access) for path, access in _argument()["remains"]])
    attempts = {
        "a socket": _reach_own_socket,
        "another process": Path(f"/proc/{_argument()['pid']}/cmdline").read_bytes,
        "itself": Path("/proc/self/status").read_bytes,
        "its folder": Path("written").touch,
        "the system": lambda: os.listdir("/usr"),  # noqa: PTH208
    }
    _answer({name: _succeeds(attempt) for name, attempt in attempts.items()})
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
    _answer(found)


def kill_self(fds: dict[str, int]) -> None:
    os.kill(os.getpid(), _argument())
    time.sleep(60)


def crash(fds: dict[str, int]) -> None:
    ctypes.string_at(0)


def fail(fds: dict[str, int]) -> None:
    raise ValueError("a failure of the program's own")


def leave(fds: dict[str, int]) -> None:
    sys.exit(_argument())


def flood(fds: dict[str, int]) -> None:
    piece = b"0123456789abcdef" * 65536
    os.write(1, b"first out\n")
    os.write(2, b"first err \xff\n")
    for _ in range(50):
        os.write(1, piece)
        os.write(2, piece)
    os.write(1, b"\nlast out")
    os.write(2, b"\nlast err")


def burst(fds: dict[str, int]) -> None:
    """Leave a tree behind: a child, a daemon in a session of its own, and a process that ignores polite signals."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(3):
        if not os.fork():
            os.setsid()
            if not os.fork():
                os.execv("/bin/sleep", ["sleep", _argument()])
            time.sleep(600)
    os.write(fds["ready"], b"x")
    if os.environ.get("LEAVE"):
        time.sleep(0.2)
        return
    time.sleep(600)


def eat_memory(fds: dict[str, int]) -> None:
    kept = []
    while True:
        piece = mmap.mmap(-1, 16 << 20)
        for offset in range(0, len(piece), 4096):
            piece[offset] = 1
        kept.append(piece)


def eat_memory_in_child(fds: dict[str, int]) -> None:
    if not os.fork():
        eat_memory(fds)
    time.sleep(600)


def multiply(fds: dict[str, int]) -> None:
    """Fork until that fails; say how often it worked."""
    count = 0
    try:
        while count < 2000:
            if not os.fork():
                time.sleep(600)
            count += 1
    except OSError:
        _answer(count)


def write_file(fds: dict[str, int]) -> None:
    """Write a file in the working directory until that fails; say its size and the error."""
    size = 0
    try:
        with Path("large").open("wb", buffering=0) as file:
            while size < 1 << 30:
                size += file.write(bytes(1 << 20))
        _answer([size, ""])
    except OSError as error:
        _answer([size, error.strerror])


def fill_disk(fds: dict[str, int]) -> None:
    """Put 32 MiB into the working directory in the way that is asked for, and stay; "briefly" leaves after half a second."""
    way = _argument()
    if way == "deleted by a daemon":
        if os.fork():
            time.sleep(600)
        os.setsid()
        if os.fork():
            os._exit(0)
    folder = Path("folder")
    folder.mkdir()
    kept = [_filled(folder, number, way) for number in range(32)]
    if way == "closed":
        folder.chmod(0)
        Path.cwd().chmod(0)
    time.sleep(0.5 if way == "briefly" else 600)
    _answer([sum(os.fstat(descriptor).st_size for descriptor in kept)])


def _filled(folder: Path, number: int, way: str) -> int:
    """A file of 1 MiB, open."""
    path = folder / str(number)
    where, how = (folder, os.O_TMPFILE) if way == "unnamed" else (path, os.O_CREAT)
    descriptor = os.open(where, how | os.O_RDWR)
    os.write(descriptor, bytes(1 << 20))
    if way.startswith("deleted"):
        path.unlink()
    return descriptor


def spin(fds: dict[str, int]) -> None:
    while True:
        pass


def signal_outside(fds: dict[str, int]) -> None:
    """The error of signalling each process."""
    found = {}
    for pid in _argument():
        try:
            os.kill(pid, 0)
            found[pid] = "reached"
        except OSError as error:
            found[pid] = type(error).__name__
    _answer(found)


def attack_supervisor(fds: dict[str, int]) -> None:
    """Try to open the descriptors and memory of every process that is seen, and to kill process 1."""
    opened = []
    for pid in {*_processes(), 1, os.getppid()} - {os.getpid()}:
        for part in ("mem", "environ", "fd/0", "fd/1", "fd/2", "fd/3", "fd/4", "fd/5", "root", "cwd"):
            try:
                os.close(os.open(f"/proc/{pid}/{part}", os.O_RDONLY))
                opened.append(f"{pid}/{part}")
            except OSError:
                continue
    _answer(opened)


def kill_everything(fds: dict[str, int]) -> int:
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        try:
            os.kill(1, number)
        except PermissionError:
            continue
    time.sleep(0.3)
    return 9


def cores(fds: dict[str, int]) -> None:
    """Where this process, a thread and a child of it may run, what comes of asking for the cores of ARG, and where they may run then."""
    _answer({"at first": _everywhere(), "asked": _ask_for(_argument()), "then": _everywhere()})


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
