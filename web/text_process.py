"""A separate process for strangers' texts, which can keep regular expressions and comparisons busy for ever."""

import json
import select
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

DEADLINE_S = 3.0


class TextProcess:
    """Runs a program that answers questions. It starts on the first question, and is ended when an answer takes too long.

    The program reads a question as JSON from each line of its standard input, and writes a line of JSON for each. Safe to share between
    threads, which take turns.
    """

    def __init__(self, command: Sequence[str], deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._command = tuple(command)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: Any) -> Any | None:
        """The answer; None if there was none in time."""
        with self._lock:
            return self._ask(json.dumps(question).encode() + b"\n")

    def close(self) -> None:
        """Ends the process; the next question starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _ask(self, line: bytes) -> Any | None:
        if self._process is None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(line)
            process.stdin.flush()
            # The answer is one line, written in one piece.
            if select.select([process.stdout], [], [], self._deadline_s)[0]:
                answer = process.stdout.readline()
                if answer:
                    return json.loads(answer)
        except OSError:
            pass  # it has ended, which counts as a late answer
        self.close()
        return None
