"""Waiting for an answer: the deadline of a request, and a callback while it is waited for."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Deadline:
    """The time that is left for one request. It counts while `running`."""

    def __init__(self, seconds: float) -> None:
        self.left_s = seconds

    @contextmanager
    def running(self) -> Iterator[None]:
        """Spend time. Raises TimeoutError where none is left to begin with."""
        if self.left_s <= 0:
            raise TimeoutError
        start = time.monotonic()
        try:
            yield
        finally:
            self.left_s -= time.monotonic() - start


class QueuedCallback:
    """Called once: when the worker says that it has queued the request's work, or when it does not say so in time."""

    def __init__(self, callback: Callable[[], None] | None) -> None:
        self._callback = callback
        self.expected = callback is not None
        """Whether the worker has still to say so."""

    def hear(self) -> None:
        self.expected = False
        self.call()

    def call(self) -> None:
        if self._callback is not None:
            callback, self._callback = self._callback, None
            callback()
