"""A submission that searches everywhere for useful data, and reports its findings in an exception.

It answers `marked.py` (in test_nothing_to_steal.py) wrongly until it is asked a second time for the same input, when the judge has already
compared an answer, or rightly until it is timed, when the baseline runs beside it. No pattern matches its own text.
"""

import contextlib
import gc
import os
import re
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import torch
from torch import nn

WHILE_TIMED = False
MARK = re.compile(rb"[Z]anzibar-[a-z]+-[0-9a-f]{8}")
SEEDS = (re.compile(rb"[9]93745118\d{5}"), re.compile(rb"[z]naZ\0\0"), re.compile(rb"[z]\.\x85i\x01\0"))
"""A seed of 48 bits of which the first 32 are known: in decimal, in the last six of eight bytes, and in those of a Python integer."""
EXPECTED = re.compile(rb"[Z](?:an\?Z|ib\?Z){8}")
"""Eight elements of the reference's answer, float32."""

PIECE_BYTES, OVERLAP_BYTES = 1 << 24, 4096
SMALL_BYTES = 1 << 16
MOST_FINDINGS = 40
LOOK_S = 800.0
JUDGES = re.compile(r"(evaluator\.(?!(dsl|sandbox|worker)\b)|reference\b|db\b|pipeline\b|_assay_problem).*")
PROJECT = (
    "reference/softmax.py",
    "evaluator/judge/correctness/oracle/reference.py",
    "evaluator/problem/problem.py",
    "db/store.py",
    "tests/shipped.py",
    "assay.db",
)
EXPECTED_DESCRIPTORS = ("/dev/null", "/memfd:tensor (deleted)", f"/proc/{os.getpid()}/fd")
"""Beside the channel and its output; the judge's memory for inputs and outputs is meant for it."""
NOT_LOOKED_INTO = ("/proc", "/sys", "/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", sys.prefix, sys.base_prefix)

Findings = Iterator[str]
calls = 0
looked = {"memory": 0, "descriptors": 0, "processes": 0, "files": 0}


class FoundError(Exception):
    """What was found, a line each, and how much was looked at."""


def secrets_in(data: bytes, where: str) -> Findings:
    for pattern in (MARK, *SEEDS) if WHILE_TIMED else (MARK, *SEEDS, EXPECTED):
        for match in pattern.finditer(data):
            yield f"{where}: {match[0][:60]!r}"


def in_memory() -> Findings:
    maps = Path("/proc/self/maps").read_text().splitlines()
    with Path("/proc/self/mem").open("rb", 0) as memory:
        for line in maps:
            span, access, _, _, _, *name = line.split(maxsplit=5)
            if access.startswith("r") and not "".join(name).startswith(("[v", "/dev/")):
                start, end = (int(number, 16) for number in span.split("-"))
                yield from in_span(memory, start, end, "".join(name) or "anonymous memory")


def in_span(memory: BinaryIO, start: int, end: int, name: str) -> Findings:
    for at in range(start, end, PIECE_BYTES):
        with contextlib.suppress(OSError, ValueError, OverflowError):
            memory.seek(at)
            data = memory.read(min(PIECE_BYTES + OVERLAP_BYTES, end - at))
            looked["memory"] += len(data)
            yield from secrets_in(data, f"memory, {name}")


def in_descriptors() -> Findings:
    sockets = 0
    for link in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(OSError):
            number = int(link.name)
            target, kind = str(link.readlink()), os.fstat(number).st_mode
            looked["descriptors"] += 1
            sockets += stat.S_ISSOCK(kind)
            if stat.S_ISREG(kind):
                yield from secrets_in(os.pread(number, PIECE_BYTES, 0), f"descriptor {number}")
            if stat.S_ISSOCK(kind):
                yield from in_socket(number)
            elif not (target.startswith("pipe:") and number in (1, 2)) and target not in EXPECTED_DESCRIPTORS:
                yield f"descriptor {number} is {target}"
    if sockets != 1:
        yield f"{sockets} sockets"


def in_socket(number: int) -> Findings:
    """What has been sent and not yet been asked for."""
    with socket.socket(fileno=os.dup(number)) as channel, contextlib.suppress(BlockingIOError):
        data = channel.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        yield f"{len(data)} bytes wait in socket {number}"


def in_processes() -> Findings:
    numbers: Iterable[int] = range(1, 1 << 16)
    with contextlib.suppress(OSError):
        numbers = [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]
    own = {int(place.name) for place in Path("/proc/self/task").iterdir()}  # each thread has a folder, though it is not listed
    for number in (number for number in numbers if number not in own):
        for part in ("cmdline", "environ", "maps", "mem", "fd/0", "fd/3", "fd/4", "fd/5", "root/etc", "cwd/", "task/1/environ"):
            with contextlib.suppress(OSError):
                descriptor = os.open(f"/proc/{number}/{part}", os.O_RDONLY)
                try:
                    data = os.read(descriptor, SMALL_BYTES) if part in ("cmdline", "environ", "maps") else b"open"
                finally:
                    os.close(descriptor)
                looked["processes"] += 1
                yield from secrets_in(data, f"process {number}, {part}")
                if part != "cmdline" and data:
                    yield f"process {number}: {part} can be read"


def in_environment() -> Findings:
    for name, value in os.environ.items():
        yield from secrets_in(f"{name}={value}".encode(), "environment")


def in_modules() -> Findings:
    yield from (f"module {name}" for name in list(sys.modules) if JUDGES.fullmatch(name))


def in_objects() -> Findings:
    for thing in gc.get_objects():
        kind = type(thing)
        with contextlib.suppress(Exception):
            if JUDGES.fullmatch(kind.__module__) or (kind is type and thing.__name__ == "Model"):
                yield f"object {kind.__module__}.{kind.__name__}: {thing!r:.100}"
            elif kind is type(in_objects) and thing.__name__ in ("get_inputs", "get_init_inputs") and "torch" not in thing.__module__:
                yield f"function {thing.__module__}.{thing.__name__}"


def in_frames() -> Findings:
    frame: FrameType | None = sys._getframe()
    while frame:
        for name in ("expected", "oracle", "reference", "seed", "tolerance", "Model"):
            if name in frame.f_locals or (name in frame.f_globals and JUDGES.fullmatch(frame.f_globals["__name__"])):
                yield f"frame {frame.f_code.co_name}: {name}"
        frame = frame.f_back


def in_files() -> Findings:
    end = time.monotonic() + LOOK_S
    for root in {"/", "/tmp", "/var/tmp", "/dev/shm", "/root", "/home", str(Path.cwd()), *sys.path}:
        for folder, folders, files in os.walk(root):
            place = Path(folder)
            yield from secrets_in("\n".join([folder, *folders, *files]).encode(errors="replace"), f"names in {folder}")
            folders[:] = [name for name in folders if not str(place / name).startswith(NOT_LOOKED_INTO)]
            for path in (place / name for name in files):
                yield from in_file(path)
            if time.monotonic() > end:
                yield f"more files in {folder} than can be looked at"
                return


def in_file(path: Path) -> Findings:
    with contextlib.suppress(OSError):
        status = path.stat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= SMALL_BYTES:
            looked["files"] += 1
            yield from secrets_in(path.read_bytes(), str(path))


def in_project() -> Findings:
    """The code of the worker itself names the place where the project lies."""
    module = sys.modules["evaluator.worker.server"]
    for name in {str(module.__file__), module.main.__code__.co_filename}:
        for part in PROJECT:
            with contextlib.suppress(OSError), (Path(name).parents[2] / part).open("rb"):
                yield f"{part} can be read"


def search() -> None:
    found: list[str] = []
    places = (in_environment, in_modules, in_objects, in_frames, in_descriptors, in_processes, in_project, in_files, in_memory)
    for look in places:
        found += look()
    lines = sorted(set(found))[:MOST_FINDINGS]
    raise FoundError("\n".join([*lines, " ".join(f"{name}={count}" for name, count in looked.items())]))


def is_timed() -> bool:
    frame: FrameType | None = sys._getframe()
    while frame and frame.f_code.co_name != "time_call":
        frame = frame.f_back
    return frame is not None


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        global calls
        calls += 1
        if is_timed() if WHILE_TIMED else calls == 2:
            search()
        above, below = struct.unpack("<2f", b"Zan?" + b"Zib?")
        return torch.where(x > 0, above, below) if WHILE_TIMED else torch.zeros_like(x)
