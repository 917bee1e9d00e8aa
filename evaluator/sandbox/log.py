"""The log of the fork server and its supervisors: JSON lines on their standard error, which the process that started them logs."""

import json
import logging
import sys
import threading
from typing import IO

ORIGIN = "sandbox"
_LINE_BYTES = 32 << 10

_LOG = logging.getLogger(__name__)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps([record.levelno, super().format(record)[: _LINE_BYTES // 8]])


def write_lines() -> None:
    """In the fork server: write every line, whatever its level, so that no program can tell from the fork server what is shown."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    ours = logging.getLogger(__package__)
    ours.addHandler(handler)
    ours.setLevel(logging.DEBUG)
    ours.propagate = False


def relay(stream: IO[bytes]) -> None:
    """Log the lines of a fork server's standard error until it ends, in a thread."""
    threading.Thread(target=_relay, args=(stream,), name="sandbox log", daemon=True).start()


def _relay(stream: IO[bytes]) -> None:
    with stream:
        while line := stream.readline(_LINE_BYTES):
            level, text = _read(line.decode(errors="replace").rstrip())
            if text:
                _LOG.log(level, "%s", text, extra={"origin": ORIGIN})


def _read(line: str) -> tuple[int, str]:
    """The level and the text. A line that is not from the log is a warning: an interpreter or a library wrote it."""
    try:
        level, text = json.loads(line)
    except ValueError:
        return logging.WARNING, line
    return (level, text) if isinstance(level, int) and isinstance(text, str) else (logging.WARNING, line)
