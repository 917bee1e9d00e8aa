"""Reads what was handed in, in a process of its own: a text that is made to be slow to parse must not hold up the service."""

import ctypes
import logging
import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from evaluator.engine.warm import start_judges_parent
from evaluator.submission import Submission, of_text

READ_WITHIN_S = 120.0
TRIES = 2
PR_SET_PDEATHSIG = 1
log = logging.getLogger(__name__)


class ReadingError(Exception):
    """The process that reads has ended, or takes too long."""


class Reading:
    """One process that reads submissions. Used by one thread at a time."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def read(self, name: str, text: str, response: bool, problem: str, author: str, sample_id: int | None) -> Submission:
        """As `of_text`. Raises ReadingError."""
        for left in reversed(range(TRIES)):
            if self._pool is None:
                start_judges_parent()
                self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("forkserver"), _begin)
            try:
                return self._pool.submit(of_text, name, text, response, problem, author, sample_id).result(READ_WITHIN_S)
            except (BrokenProcessPool, TimeoutError, OSError) as error:
                log.warning("%s could not be read: %s", name, error or type(error).__name__)
                self.close()
                if not left or isinstance(error, TimeoutError):
                    raise ReadingError(f"the process that reads submissions failed: {error or type(error).__name__}") from error
        raise AssertionError("a last try either returns or raises")

    def close(self) -> None:
        """Kill the process."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        # There is no public way to end one that is at work.
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """The first that the process does: it ends with the service's fork server, its parent, and leaves Ctrl-C to the service."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
