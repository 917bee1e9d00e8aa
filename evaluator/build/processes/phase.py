"""Build graphs of one build, which wait for slots, run in parallel, and end."""

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from evaluator.build.processes.graph import GraphRun, JobEnd
from evaluator.build.processes.slots import POLL_S, Slots
from evaluator.log import waiting

Begin = Callable[[int, float], tuple[GraphRun, float] | None]
"""Starts a graph, given how many of its jobs may run at once and how many seconds it waited. Returns the graph and its deadline on the
monotonic clock, or None if there is nothing to run."""


class Phase:
    """A graph that waits, runs or has run. Close it after use."""

    def __init__(self, begin: Begin, jobs: int, slots: Slots | None, memory_bytes: int) -> None:
        """`jobs` need `memory_bytes` each. As many run at once as have `slots`, and at least one."""
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
        """Start it if there are slots for it now. Raises OSError if it can't be started."""
        at_once = self._claim.take() if self._claim else min(self._jobs, os.cpu_count() or 1)
        if at_once:
            begun = self._begin(at_once, time.monotonic() - self._asked)
            if begun is None:
                self.over = True
            else:
                self.run, self._deadline = begun

    def step(self, timeout_s: float) -> list[JobEnd]:
        """Wait up to `timeout_s`, or its deadline, for the end of a started phase. Returns the jobs that ended; their slots are kept until
        `give_back`."""
        if self.run is None:
            return []
        ended = self.run.wait(max(min(timeout_s, self._deadline - time.monotonic()), 0.0))
        if self.run.left and time.monotonic() >= self._deadline:
            ended += self.run.stop()
        self.over = not self.run.left
        return ended

    def give_back(self) -> None:
        """Give back the slots of the jobs that `step` returned; all, if the phase is over."""
        if self.over:
            self.close()
        elif self.run is not None and self._claim is not None:
            self._claim.keep(self.run.left)

    def close(self) -> None:
        """Kill running jobs, and give the slots back."""
        if self.run is not None:
            self.run.close()
        if self._claim is not None:
            self._claim.close()


class Phases:
    """Phases of one build, in parallel. A context manager, which closes them."""

    def __init__(self) -> None:
        self._open: list[Phase] = []
        self.waited_s = 0.0
        """Seconds in which nothing ran, because no slot was free."""

    def add(self, phase: Phase) -> None:
        self._open.append(phase)

    @property
    def any(self) -> bool:
        """Whether a phase is not over."""
        return not all(phase.over for phase in self._open)

    def step(self) -> list[JobEnd]:
        """The jobs that ended after a while. Their slots are kept until the next step, so that the caller can use them meanwhile: waiting
        for another slot could be a deadlock. Raises OSError as the runner does."""
        began = time.monotonic()
        for phase in self._open:
            phase.give_back()
        self._open = [phase for phase in self._open if not phase.over]
        if self._start_waiting():
            with waiting("a slot for a compiler"):
                while self._start_waiting():
                    time.sleep(POLL_S)
            self.waited_s += time.monotonic() - began
            return []
        runs = [phase.run for phase in self._open]
        # With other jobs running, only files show that a job has ended, so poll them.
        alone = len(runs) == 1 and runs[0] is not None and runs[0].ends_with_ninja
        return [end for phase in self._open for end in phase.step(float("inf") if alone else POLL_S)]

    def _start_waiting(self) -> bool:
        """Start the phases that have slots now. Returns whether all still wait."""
        for phase in self._open:
            if phase.waits:
                phase.start()
        return all(phase.waits for phase in self._open)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for phase in self._open:
            phase.close()
