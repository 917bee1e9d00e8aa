"""Measures the time of each stage of one evaluation."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class StageTimes:
    """Each moment counts as one stage: the innermost entered one. So the stages add up.

    Work in threads other than its creator's is no stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        """Seconds by stage, in the order of their first entry."""
        self.held_seconds: dict[str, float] = {}
        """Seconds of each stage in which the evaluation had the device exclusively."""
        self._entered: list[str] = []
        self._since = time.monotonic()
        self._is_held = False
        self._thread = threading.get_ident()

    @contextmanager
    def spending(self, stage: str) -> Iterator[None]:
        """Count the time of this context as this stage."""
        if threading.get_ident() != self._thread:
            yield
            return
        self._settle()
        self.seconds.setdefault(stage, 0.0)
        self._entered.append(stage)
        try:
            yield
        finally:
            self._settle()
            self._entered.pop()

    def holding(self, held: bool) -> None:
        """Note that the evaluation has acquired or released exclusive use of the device."""
        self._settle()
        self._is_held = held

    def move(self, seconds: float, stage: str, other: str) -> None:
        """Move time from one stage to another, as time without the device."""
        if threading.get_ident() != self._thread:
            return
        self.seconds[stage] -= seconds
        self.seconds[other] = self.seconds.get(other, 0.0) + seconds

    def _settle(self) -> None:
        """Count the time since the last change."""
        now = time.monotonic()
        if self._entered:
            stage = self._entered[-1]
            self.seconds[stage] += now - self._since
            if self._is_held:
                self.held_seconds[stage] = self.held_seconds.get(stage, 0.0) + now - self._since
        self._since = now
