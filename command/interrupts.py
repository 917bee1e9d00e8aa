"""Ctrl-C and SIGTERM: both end a run, but never between a result and its record."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """While entered, both signals raise KeyboardInterrupt in the main thread. Within `held`, they do so when `held` ends.

    In another thread it does nothing: only the main thread gets signals.
    """

    def __init__(self) -> None:
        self._held = 0
        self._pending = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Delay KeyboardInterrupt until this ends."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._pending and not self._held:
            self._pending = False
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature is signal's
        if self._held:
            self._pending = True
        else:
            raise KeyboardInterrupt
