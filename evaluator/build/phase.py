"""Graphs of one build that wait for their slots, run side by side, and end."""

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from evaluator.build.graph import GraphRun, JobEnd
from evaluator.build.slots import POLL_S, Slots

Begin = Callable[[int, float], tuple[GraphRun, float] | None]
"""Starts a graph, told how many of its jobs may run at once and for how long it waited for that. Gives the graph and its deadline, by the
monotonic clock; None where there is nothing to run."""


class Phase:
    """A graph whose jobs may not run yet, run, or ran. To be closed."""

    def __init__(self, begin: Begin, jobs: int, slots: Slots | None, memory_bytes: int) -> None:
        """`jobs` of `memory_bytes` each run when there are `slots` for one of them at least; so many at once as there are slots for."""
        self._begin, self._jobs = begin, jobs
        self._claim = slots.claim(memory_bytes, jobs) if slots else None
        self._asked = time.monotonic()
        self._deadline = 0.0
        self.run: GraphRun | None = None
        self.over = False

    @property
    def waits(self) -> bool:
        """Whether it has no slot yet."""
        return self.run is None and not self.over

    def start(self) -> None:
        """Start it if there are slots for it now. Raises OSError where it can't be."""
        at_once = self._claim.take() if self._claim else min(self._jobs, os.cpu_count() or 1)
        if at_once:
            begun = self._begin(at_once, time.monotonic() - self._asked)
            if begun is None:
                self.over = True
            else:
                self.run, self._deadline = begun

    def step(self, timeout_s: float) -> list[JobEnd]:
        """Wait for the end of a phase that was started, for so long or until its deadline, and tell the jobs that ended meanwhile. Their
        slots are kept until `give_back`."""
        if self.run is None:
            return []
        ended = self.run.wait(max(min(timeout_s, self._deadline - time.monotonic()), 0.0))
        if self.run.left and time.monotonic() >= self._deadline:
            ended += self.run.stop()
        self.over = not self.run.left
        return ended

    def give_back(self) -> None:
        """Give back the slots of the jobs that were told to have ended; of a phase that is over, all."""
        if self.over:
            self.close()
        elif self.run is not None and self._claim is not None:
            self._claim.keep(self.run.left)

    def close(self) -> None:
        """Kill what still runs, and give the slots back."""
        if self.run is not None:
            self.run.close()
        if self._claim is not None:
            self._claim.close()


class Phases:
    """Phases of one build, side by side. A context manager, which closes them."""

    def __init__(self) -> None:
        self._open: list[Phase] = []
        self.waited_s = 0.0
        """How long nothing ran, for want of a slot."""

    def add(self, phase: Phase) -> None:
        self._open.append(phase)

    @property
    def any(self) -> bool:
        """Whether there is one that is not over."""
        return not all(phase.over for phase in self._open)

    def step(self) -> list[JobEnd]:
        """The jobs that ended after a while. The slots that they leave free are kept until the next step, for who looks at their ends: to
        wait for a slot meanwhile could be to wait for oneself. Raises OSError as the runner does."""
        began = time.monotonic()
        for phase in self._open:
            phase.give_back()
        self._open = [phase for phase in self._open if not phase.over]
        for phase in self._open:
            if phase.waits:
                phase.start()
        if all(phase.waits for phase in self._open):
            time.sleep(POLL_S)
            self.waited_s += time.monotonic() - began
            return []
        runs = [phase.run for phase in self._open]
        # Files tell that a job among others has ended; they have to be looked at.
        alone = len(runs) == 1 and runs[0] is not None and runs[0].ends_with_ninja
        return [end for phase in self._open for end in phase.step(float("inf") if alone else POLL_S)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for phase in self._open:
            phase.close()
