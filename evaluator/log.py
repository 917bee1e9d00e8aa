"""The log of the command and of all trusted processes that it starts: which lines are shown, their form, and waits that take long.

The command shows the log on standard error. A judge process sends its lines to the command over its pipe. Nothing here runs in a worker.
"""

import argparse
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

VARIABLE = "ASSAY_LOG"
LEVELS = {"warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
PACKAGES = ("assay", "command", "configuration", "db", "evaluator", "reference", "web")
"""Packages whose loggers the level applies to. Other libraries show warnings only."""
MAX_CHARACTERS = 20_000
"""Maximum length of one entry. It may quote a submission."""
SHOWN_S = 1.0
"""A wait is logged if it took so long."""
LONG_S = 5.0
"""After so long, a wait is logged while it lasts."""

Sent = tuple[int, str, float, str]
"""A line on its way to the command: level, logger, time of day in seconds, text."""

log = logging.getLogger(__name__)


class LogLevelError(ValueError):
    """The environment variable has an unknown level."""


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add `-v`."""
    told = f"show reruns and waits; -vv: stages too (default: {VARIABLE})"
    parser.add_argument("-v", "--verbose", action="count", default=0, help=told)


def show(origin: str, verbose: int = 0) -> None:
    """Show this process's log, and what other processes send. `origin` names this process, `verbose` counts `-v`. Raises LogLevelError."""
    level = _level(verbose)
    handler = _ToStandardError()
    handler.setFormatter(_Lines(origin))
    _log_to(handler, level)


def level_in_force() -> int:
    """The level for judges that this process starts, also if a caller in Python has set it."""
    return logging.getLogger("evaluator").getEffectiveLevel()


def send_to(send: Callable[[Sent], None], level: int) -> None:
    """Pass this process's lines to `send`, which may raise OSError, from any thread."""
    _log_to(_Sender(send), level)


def receive(origin: str, sent: Sent) -> None:
    """Log a line of another process, which `origin` names."""
    level, name, created, text = sent
    fields = {"name": name, "levelno": level, "levelname": logging.getLevelName(level), "msg": text, "created": created, "origin": origin}
    logging.getLogger(name).handle(logging.makeLogRecord(fields))


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Log how long the body of `with` waits for `what`, if that is long."""
    if not log.isEnabledFor(logging.INFO):
        yield
        return
    began = time.monotonic()
    while_it_lasts = threading.Timer(LONG_S, log.info, ("waiting for %s", what))
    while_it_lasts.daemon = True
    while_it_lasts.start()
    try:
        yield
    finally:
        while_it_lasts.cancel()
        waited_s = time.monotonic() - began
        if waited_s >= SHOWN_S:
            log.info("waited %.1f s for %s", waited_s, what)


def _level(verbose: int) -> int:
    if verbose:
        return logging.INFO if verbose == 1 else logging.DEBUG
    name = os.environ.get(VARIABLE) or "warning"
    if name.lower() not in LEVELS:
        raise LogLevelError(f"{VARIABLE} must be one of {', '.join(LEVELS)}, not {name!r}")
    return LEVELS[name.lower()]


def _log_to(handler: logging.Handler, level: int) -> None:
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING))
    for name in PACKAGES:
        logging.getLogger(name).setLevel(level if level < logging.WARNING else logging.NOTSET)


class _Lines(logging.Formatter):
    """Time, process and text. Further lines of an entry are indented, and control characters are escaped: nothing can pose as an entry."""

    def __init__(self, origin: str) -> None:
        super().__init__()
        self._origin = origin

    def format(self, record: logging.LogRecord) -> str:
        from evaluator.results.display.text import plain_block

        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        entry = f"{at}.{int(record.created % 1 * 10)} {getattr(record, 'origin', self._origin)}: {_text(record)}"
        return plain_block(entry).replace("\n", "\n    ")


class _ToStandardError(logging.Handler):
    """Writes to what is standard error at the time: a progress bar on a terminal puts itself there, and prints lines above the bar."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError, ValueError):  # its reader is gone
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()


class _Sender(logging.Handler):
    def __init__(self, send: Callable[[Sent], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):  # the receiver has ended
            self._send((record.levelno, record.name, record.created, _text(record)))


def _text(record: logging.LogRecord) -> str:
    """The message, and the traceback if there is one."""
    trace = f"\n{logging.Formatter().formatException(record.exc_info)}" if record.exc_info else ""
    text = record.getMessage() + trace
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]} … {len(text) - MAX_CHARACTERS} characters more"
