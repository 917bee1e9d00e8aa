"""A terminal: runs a command on a real pseudo-terminal, and keeps its output as a screen shows it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from rich.cells import cell_len

from tests.command_line import PROJECT, RUN_S

_PARTS = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|([\r\n])|([^\x1b\r\n]+)")
CTRL_C = b"\x03"


class Terminal:
    """A command on a terminal with so many columns; a context manager."""

    def __init__(
        self,
        words: Sequence[str | Path],
        columns: int,
        folder: Path = PROJECT,
        more: Mapping[str, str] | None = None,
        *,
        stdout: int | None = None,
    ) -> None:
        """stdout: another target of standard output, so that only standard error goes to the terminal."""
        self.columns, self.text, self.lines, self._row, self._column = columns, "", [""], 0, 0
        self.cursor, self.frames = True, list[str]()
        self._here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        left_out = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
        environment = {name: value for name, value in os.environ.items() if name not in left_out}
        environment |= {"TERM": "xterm-256color", "PYTHONPATH": str(PROJECT), **(more or {})}

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(2, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment,
            stdin=there,
            stdout=there if stdout is None else stdout,
            stderr=there,
            preexec_fn=take_terminal,
        )
        os.close(there)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._here)

    def read(self, until: Callable[[], bool] = lambda: False, within_s: float = RUN_S) -> str:
        """Follow until the condition holds, or the command ends; returns all its output."""
        deadline = time.monotonic() + within_s
        while not until():
            assert time.monotonic() < deadline, self.text[-3000:]
            if not select.select([self._here], [], [], 0.1)[0]:
                continue
            try:
                got = os.read(self._here, 1 << 16)
            except OSError:  # the last process has closed the terminal
                break
            if not got:
                break
            self._write(got.decode("utf-8", "replace"))
        return self.text

    def press(self, keys: bytes) -> None:
        os.write(self._here, keys)

    def end(self) -> int:
        """Follow to the end; returns the exit code."""
        self.read()
        return self.process.wait(timeout=RUN_S)

    @property
    def screen(self) -> list[str]:
        """The visible lines, and those above by scrolling back."""
        return [line.rstrip() for line in self.lines]

    def _write(self, text: str) -> None:
        self.text += text
        for arguments, command, move, plain in _PARTS.findall(text):
            if command == "A":
                self._row = max(self._row - int(arguments or 1), 0)
            elif command == "K":
                self.lines[self._row] = ""
            elif command in "hl" and arguments == "?25":
                self.cursor = command == "h"
            elif move == "\r":
                self._column = 0
            elif move == "\n":
                self.frames.append(self.lines[self._row])
                self._row += 1
                self.lines += [""] * (self._row + 1 - len(self.lines))
            elif plain:
                line = self.lines[self._row]
                self.lines[self._row] = line[: self._column].ljust(self._column) + plain + line[self._column + len(plain) :]
                self._column += cell_len(plain)


def python(program: str) -> list[str]:
    """The words of a command that runs a program."""
    return [sys.executable, "-c", program]
