"""Functions that tests run inside the sandbox: how programs end, what they see, and what they use.

Arguments come in the environment as ARG (JSON); answers go to standard output as JSON.
"""

import json
import mmap
import os
import random
import resource
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

IMPORTED_IN = os.getpid()


def argument() -> Any:
    return json.loads(os.environ["ARG"])


def answer(value: object) -> None:
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
    """The environment that a program finds."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    answer(
        {
            "uid": os.getuid(),
            "gid": os.getgid(),
            "groups": os.getgroups(),
            "cwd": str(Path.cwd()),
            "environment": dict(os.environ),
            "first_environment": Path("/proc/self/environ").read_bytes().decode(),
            "arguments": Path("/proc/self/cmdline").read_bytes().decode().split("\0"),
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
    for path in argument():
        try:
            found[path] = sorted(_names(path)) if Path(path).is_dir() else len(Path(path).read_bytes())
        except OSError as error:
            found[path] = type(error).__name__
    answer(found)


def write(fds: dict[str, int]) -> None:
    """For each directory: "written", or the error's name."""
    found = {}
    for directory in argument():
        try:
            Path(directory, "assay-was-here").write_text("x")
            found[directory] = "written"
        except OSError as error:
            found[directory] = type(error).__name__
    answer(found)


def kill_self(fds: dict[str, int]) -> None:
    os.kill(os.getpid(), argument())
    time.sleep(600)


def fail(fds: dict[str, int]) -> None:
    raise ValueError("a failure of the program's own")


def leave(fds: dict[str, int]) -> None:
    sys.exit(argument())


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
                os.execv("/bin/sleep", ["sleep", argument()])
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
        answer(count)


def write_file(fds: dict[str, int]) -> None:
    """Write a file in the working directory until that fails; say its size and the error."""
    size = 0
    try:
        with Path("large").open("wb", buffering=0) as file:
            while size < 1 << 30:
                size += file.write(bytes(1 << 20))
        answer([size, ""])
    except OSError as error:
        answer([size, error.strerror])


def fill_disk(fds: dict[str, int]) -> None:
    """Put 32 MiB into the working directory in the way that is asked for, and stay; "briefly" leaves after half a second."""
    way = argument()
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
    answer([sum(os.fstat(descriptor).st_size for descriptor in kept)])


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
    for pid in argument():
        try:
            os.kill(pid, 0)
            found[pid] = "reached"
        except OSError as error:
            found[pid] = type(error).__name__
    answer(found)


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
    answer(opened)


def kill_everything(fds: dict[str, int]) -> int:
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        try:
            os.kill(1, number)
        except PermissionError:
            continue
    time.sleep(0.3)
    return 9
