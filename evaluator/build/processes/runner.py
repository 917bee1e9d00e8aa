"""Runs the builder's programs: confined, or plainly for `--no-sandbox`.

Both are a `Runner`, so the builder treats them alike.
"""

import os
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MAX_OUTPUT_BYTES = 2 << 20
"""Kept of a command's output: errors usually come first, so the head is kept and the rest is dropped."""
_DRAIN_GRACE_S = 2.0
_KILL_GRACE_S = 5.0


@dataclass(frozen=True)
class CommandResult:
    """How a command ended."""

    code: int | None
    """Exit code; None when a signal ended it."""
    timed_out: bool
    output: str
    """Standard output and standard error together, limited in length."""


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    code: int | None
    """Exit code; None when a signal ended it."""
    output: str
    """Standard output and standard error together, limited in length."""
    shortage: str = ""
    """The limit that it exceeded, in words; it, or a process that it started, was killed for that."""


class Running(ABC):
    """A started program. Close it after use."""

    @abstractmethod
    def wait(self, timeout_s: float) -> Ended | None:
        """How it ended; None if it runs on after `timeout_s`. Raises OSError if its confinement was lost."""

    @abstractmethod
    def kill(self) -> Ended:
        """Kill it and all processes that it started. Raises as `wait` does."""

    @abstractmethod
    def close(self) -> None:
        """Kill its remaining processes, and free its resources here."""


class Runner(ABC):
    """Starts programs."""

    @abstractmethod
    def start(
        self, argv: tuple[str, ...], folder: Path, env: dict[str, str], *, writable: tuple[Path, ...] = (), at_once: int = 1
    ) -> Running:
        """Start a program in `folder`, which it may read and write like `writable`, with only the environment `env`. It has the memory of
        `at_once` compilers. Raises OSError if it can't be started."""

    def run(self, argv: tuple[str, ...], folder: Path, env: dict[str, str], timeout_s: float) -> CommandResult:
        """Run a program to its end, or for `timeout_s`. Raises OSError as `start` does."""
        running = self.start(argv, folder, env)
        try:
            ended = running.wait(timeout_s)
            timed_out = ended is None
            ended = ended or running.kill()
        finally:
            running.close()
        if ended.shortage:
            return CommandResult(None, timed_out, f"{ended.output}\n{ended.shortage}\n")
        return CommandResult(ended.code, timed_out, ended.output)


class PlainRunner(Runner):
    """Runs programs without confinement, each in its own session, which is killed as a whole."""

    def start(
        self,
        argv: tuple[str, ...],
        folder: Path,
        env: dict[str, str],
        *,
        writable: tuple[Path, ...] = (),  # noqa: ARG002 - it may write all that the builder may
        at_once: int = 1,  # noqa: ARG002 - its memory has no bound
    ) -> Running:
        """Start it without limits."""
        return _PlainRunning(argv, folder, env)


class _PlainRunning(Running):
    def __init__(self, argv: tuple[str, ...], folder: Path, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        assert self._process.stdout is not None
        self._kept = bytearray()
        self._reader = threading.Thread(target=_drain, args=(self._process.stdout, self._kept), daemon=True)
        self._reader.start()

    def wait(self, timeout_s: float) -> Ended | None:
        try:
            code = self._process.wait(max(timeout_s, 0.0))
        except subprocess.TimeoutExpired:
            return None
        return self._ended(None if code < 0 else code)

    def kill(self) -> Ended:
        if self._process.returncode is None:
            # Not reaped yet, so no other session can have its number.
            _kill_below(self._process.pid)
            self._process.wait()
        return self._ended(None)

    def close(self) -> None:
        self.kill()

    def _ended(self, code: int | None) -> Ended:
        self._reader.join(_DRAIN_GRACE_S)
        return Ended(code, bytes(self._kept).decode(errors="replace"))


def _kill_below(root: int) -> None:
    """Kill a session's leader, all processes below it, and the sessions that they began: each of ninja's commands has one."""
    os.kill(root, signal.SIGSTOP)  # it starts no process while we look
    deadline = time.monotonic() + _KILL_GRACE_S
    while (below := _below(root)) and time.monotonic() < deadline:
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    os.kill(root, signal.SIGKILL)


def _below(root: int) -> set[int]:
    """Running processes below a session's leader, or in a session that began there."""
    present: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                # The command, in parentheses, may hold any characters.
                state, above, _, session = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:4]
                if state not in "ZX":
                    present[int(entry.name)] = (int(above), int(session))
    found, sessions, before = {root}, {root}, 0
    while len(found) > before:
        before = len(found)
        found |= {pid for pid, (above, session) in present.items() if above in found or session in sessions}
        sessions |= {present[pid][1] for pid in found if pid in present}
    return found - {root}


def _drain(stream: IO[bytes], kept: bytearray) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            kept.extend(chunk[: MAX_OUTPUT_BYTES - len(kept)])
