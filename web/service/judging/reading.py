"""Reads submissions in a separate process: a text that is made to be slow to parse must not block the service."""

import contextlib
import logging
import os
import signal
from dataclasses import astuple, dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from evaluator.engine.fork_server import CONTEXT
from evaluator.engine.warm_parents import start_judges_parent
from evaluator.submission.extract import of_text
from evaluator.submission.model import Submission

READ_WITHIN_S = 120.0
END_WITHIN_S = 5.0
TRIES = 2
log = logging.getLogger(__name__)


class ReadingError(Exception):
    """The reading process has ended, or takes too long."""


@dataclass(frozen=True)
class Text:
    """The text of a submission; fields are the arguments of `of_text`."""

    name: str
    text: str
    response: bool
    problem: str
    author: str
    sample_id: int | None


class Reading:
    """One process that reads submissions. Used by one thread at a time."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def read(self, text: Text) -> Submission:
        """The submission in a text. Raises ReadingError."""
        for left in reversed(range(TRIES)):
            pipe = self._pipe or self._start()
            try:
                pipe.send(text)
                if not pipe.poll(READ_WITHIN_S):
                    self.close()
                    raise ReadingError(f"reading it takes more than {READ_WITHIN_S:g} s")
                submission: Submission = pipe.recv()
            except (EOFError, OSError) as error:
                log.warning("%s could not be read: the reading process has ended", text.name)
                self.close()
                if not left:
                    raise ReadingError("the process that reads submissions ended") from error
            else:
                return submission
        raise AssertionError("a last try either returns or raises")

    def close(self) -> None:
        """Kill the process."""
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join(END_WITHIN_S)
            self._pipe.close()
        self._process = self._pipe = None

    def _start(self) -> Connection:
        start_judges_parent()
        pipe, theirs = CONTEXT.Pipe()
        process = CONTEXT.Process(target=serve, args=(theirs,), daemon=True, name="reading")
        process.start()
        theirs.close()
        self._process, self._pipe = process, pipe
        return pipe


def serve(pipe: Connection) -> None:
    """Answer each text with its submission until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service handles Ctrl-C
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(of_text(*astuple(pipe.recv())))
    os._exit(0)
