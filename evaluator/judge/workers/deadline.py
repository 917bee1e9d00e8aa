"""Waiting for a reply: the timeout of a request, and a callback meanwhile."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Deadline:
    """The remaining time of one request. It counts down while `running`."""

    def __init__(self, seconds: float) -> None:
        self.left_s = seconds

    @contextmanager
    def running(self) -> Iterator[None]:
        """Spend time. Raises TimeoutError if none is left at the start."""
        if self.left_s <= 0:
            raise TimeoutError
        start = time.monotonic()
        try:
            yield
        finally:
            self.left_s -= time.monotonic() - start


class QueuedCallback:
    """Called once: when the worker reports that it has queued the request's work, or at the time limit of that."""

    def __init__(self, callback: Callable[[], None] | None) -> None:
        self._callback = callback
        self.expected = callback is not None
        """Whether the worker must still report this."""

    def hear(self) -> None:
        self.expected = False
        self.call()

    def call(self) -> None:
        if self._callback is not None:
            callback, self._callback = self._callback, None
            callback()
