"""The stage that a worker is in, and the time that each stage has taken."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class StageTimes:
    """`stage` names what is being asked of a worker, for the evidence; `stages_s` is the time of each stage so far."""

    def __init__(self) -> None:
        self.stage = "start"
        self.stages_s: dict[str, float] = {}

    @contextmanager
    def entering(self, stage: str) -> Iterator[None]:
        """Name the stage, and add the time spent in it to `stages_s`. The time of builds is not part of it."""
        self.stage = stage
        built_s = self._building_s
        try:
            with self.spending(stage):
                yield
        finally:
            self.add(stage, built_s - self._building_s)

    @contextmanager
    def spending(self, stage: str) -> Iterator[None]:
        """Add the time spent here to `stages_s`, whoever spends it. `stage` stays as it is."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.add(stage, time.monotonic() - start)

    def add(self, stage: str, seconds: float) -> None:
        """Add time to a stage."""
        self.stages_s[stage] = self.stages_s.get(stage, 0.0) + seconds

    @property
    def _building_s(self) -> float:
        return self.stages_s.get("build", 0.0) + self.stages_s.get("queue", 0.0)
