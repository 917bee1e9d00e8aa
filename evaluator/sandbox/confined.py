"""A judge's handle of one confined program."""

import json
import os
import select
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from evaluator.sandbox.program import Exit, Level, SandboxUnavailable

_CLOSE_WITHIN_S = 10.0
_PIECE_BYTES = 65536


class Confined:
    """A program that runs, or ran, in the sandbox. Close it, or use it as a context manager.

    If its handle is lost, by garbage collection or with its judge's process, the program is killed.
    """

    def __init__(self, level: Level, control: socket.socket, stdout: int, stderr: int, output_bytes: int) -> None:
        """Takes over the socket to the supervisor and the read ends of the program's output pipes."""
        self.level = level
        self._control = control
        self._lock = threading.Lock()
        self._exit: Exit | None = None
        self._error: str | None = None
        self._outputs = (_Output(output_bytes), _Output(output_bytes))
        self._drain = threading.Thread(target=_drain, args=((stdout, stderr), self._outputs), name="sandbox output", daemon=True)
        self._drain.start()

    def fileno(self) -> int:
        """A descriptor that becomes readable when the program has ended, or failed to start."""
        return self._control.fileno()

    @property
    def exit(self) -> Exit | None:
        """How it ended, once `wait` has returned that."""
        return self._exit

    def wait(self, timeout_s: float | None) -> Exit | None:
        """Wait until it and all that it started have ended; None if they have not within `timeout_s` (None: for ever).

        Raises SandboxUnavailable if its confinement failed or its supervisor was lost.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._lock:
            if self._exit is None and self._error is None and not self._receive(deadline):
                return None
            if self._error is not None:
                raise SandboxUnavailable(self._error)
            return self._exit

    def _receive(self, deadline: float | None) -> bool:
        left_ms = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        if not poller.poll(left_ms):
            return False
        try:
            message = self._control.recv(_PIECE_BYTES)
        except ConnectionResetError:
            message = b""
        answer: dict[str, Any] = json.loads(message) if message else {"error": "the supervisor was lost"}
        if "error" in answer:
            self._error = str(answer["error"])
        else:
            exceeded = {name: answer[name] for name in ("memory_exceeded", "disk_exceeded")}
            self._exit = Exit.from_wait_status(answer["status"], **exceeded)
        return True

    def kill(self) -> None:
        """SIGKILL the whole tree; returns at once, and `wait` tells when it is done. May be called repeatedly, also after the end."""
        try:
            self._control.shutdown(socket.SHUT_WR)
        except OSError:  # the supervisor has ended, or this handle is closed
            return

    def output(self) -> tuple[str, str]:
        """Its standard output and error so far; after its end, all that is kept of them."""
        if self._exit is not None or self._error is not None:
            self._drain.join(_CLOSE_WITHIN_S)
        stdout, stderr = (output.text() for output in self._outputs)
        return stdout, stderr

    def close(self) -> None:
        """Kill it, wait until all its processes are gone, and free its resources here."""
        if self._control.fileno() < 0:
            return
        self.kill()
        with suppress(SandboxUnavailable):  # `wait` stores the error for the callers that need it
            self.wait(_CLOSE_WITHIN_S)
        self._control.close()
        self._drain.join(_CLOSE_WITHIN_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Output:
    """The beginning and the end of a stream, within a limit."""

    def __init__(self, limit_bytes: int) -> None:
        self._head_bytes = limit_bytes // 2
        self._tail_bytes = limit_bytes - self._head_bytes
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._cut = 0
        self._lock = threading.Lock()

    def add(self, piece: bytes) -> None:
        with self._lock:
            room = self._head_bytes - len(self._head)
            self._head += piece[:room]
            rest = piece[room:]
            if rest:
                self._tail.append(rest)
                self._tail_size += len(rest)
            while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_bytes:
                dropped = len(self._tail.popleft())
                self._tail_size -= dropped
                self._cut += dropped

    def text(self) -> str:
        with self._lock:
            tail = b"".join(self._tail)
            surplus = max(0, len(tail) - self._tail_bytes)
            cut = self._cut + surplus
            mark = f"\n[... {cut} bytes cut ...]\n".encode() if cut else b""
            return (bytes(self._head) + mark + tail[surplus:]).decode("utf-8", errors="replace")


def _drain(pipes: tuple[int, int], outputs: tuple[_Output, _Output]) -> None:
    """Read both pipes to their ends and close them; a program that floods them never waits."""
    by_pipe = dict(zip(pipes, outputs, strict=True))
    poller = select.poll()
    for pipe in by_pipe:
        poller.register(pipe, select.POLLIN)
    while by_pipe:
        for pipe, _ in poller.poll():
            piece = os.read(pipe, _PIECE_BYTES)
            if piece:
                by_pipe[pipe].add(piece)
            else:
                poller.unregister(pipe)
                os.close(pipe)
                del by_pipe[pipe]
