"""Where the seconds of one evaluation go."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class StageTimes:
    """Each moment belongs to one stage: the innermost of those that have been entered. So the stages add up.

    What other threads than the one that made it do is no stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        """By stage, in the order in which they were first entered."""
        self.held_seconds: dict[str, float] = {}
        """How much of that the evaluation had the device, by stage."""
        self._entered: list[str] = []
        self._since = time.monotonic()
        self._is_held = False
        self._thread = threading.get_ident()

    @contextmanager
    def spending(self, stage: str) -> Iterator[None]:
        """What is done here belongs to this stage."""
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
        """The evaluation has the device from now on, or has it no more."""
        self._settle()
        self._is_held = held

    def move(self, seconds: float, stage: str, other: str) -> None:
        """Of what has been counted as one stage, so much was another's, without the device."""
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
