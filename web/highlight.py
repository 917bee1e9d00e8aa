"""Source as HTML with its words marked, line by line.

Pygments goes over texts of strangers with regular expressions that can take for ever; so it does that in a process of its own, which is
ended when it takes too long, and the text is then shown unmarked.
"""

import json
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from html import escape
from pathlib import Path

from pygments.formatters import HtmlFormatter

DEADLINE_S = 3.0
MAX_CHARACTERS = 300_000
"""Longer texts are not marked."""
LIGHT, DARK = "default", "github-dark"
"""Styles of Pygments."""
CLASS = "source"
COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("highlight_process.py")))


class Highlighter:
    """The process, started when it is first needed. Safe to share between threads, which take turns."""

    def __init__(self, deadline_s: float = DEADLINE_S, command: Sequence[str] = COMMAND) -> None:
        self._deadline_s = deadline_s
        self._command = tuple(command)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def lines(self, code: str) -> list[str]:
        """HTML of each line of Python code, nothing in it but text and `span` with a class."""
        if len(code) <= MAX_CHARACTERS:
            with self._lock:
                found = self._ask(code)
            if found is not None and len(found) == code.count("\n") + 1:
                return found
        return [escape(line) for line in code.split("\n")]

    def close(self) -> None:
        """Ends the process; the next question starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _ask(self, code: str) -> list[str] | None:
        """None where there was no answer in time."""
        if self._process is None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(code).encode() + b"\n")
            process.stdin.flush()
            # The answer is one line, written at once when it is complete.
            if select.select([process.stdout], [], [], self._deadline_s)[0]:
                answer = process.stdout.readline()
                if answer:
                    return list(json.loads(answer))
        except OSError:
            pass  # it has ended, which is dealt with as if it were late
        self.close()
        return None


def style_sheet() -> str:
    """The colours of both styles, each where the reader's own is light or dark."""
    light, dark = (HtmlFormatter(style=name).get_style_defs(f".{CLASS}") for name in (LIGHT, DARK))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
