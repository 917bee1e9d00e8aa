"""Calls behind the gate (a blocking kernel, in nvbench's words): the judge's own measurement of calls on a GPU.

Single calls are nvbench's cold measurement. Bursts, several calls back to back, are its batch or hot measurement, and time small kernels
more precisely. Each call has its own inputs, flush and place for its output. The baseline alone does the same without the calls, to measure
the overhead. The candidate's own requests without calls only decide how many rows are timed. The judge compares all outputs of single
calls, and some of each burst, as they are when the worker says that it is done.
"""

import logging
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from evaluator.chance import chance
from evaluator.judge import limits
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.readback import copying, views_into
from evaluator.judge.correctness.row_sampling import Sample
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.timing.checks.cross_check import BURST, HOT, SINGLE, Excess, Sides
from evaluator.judge.timing.effort import FULL, Effort, Repeats
from evaluator.judge.timing.stopping import EVENTS_MS
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.judge.workers.input_buffers import Given, InputSet
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory
from evaluator.results.evidence import TimingSide

PROBES = 2
"""Calls that show whether forward() waits. More than one, since the first may be delayed by chance."""
ROWS = Repeats(40, 5, 0.4)
"""How often each kind of row, a single call or a burst, is timed. Less often, if the judge's clock confirms the claims before."""
KERNELS_DEADLINE_S = 5.0
"""Timeout of a request that times kernels. It has no consequence, so it must not hold the device for long."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Taken:
    """The judge's own copy of an output, or of a sample of its rows."""

    values: list[torch.Tensor]
    sample: Sample | None


Check = Callable[[Taken, InputSet, Draw], None]
"""Compares the output for these inputs with the reference's, and raises if it is wrong."""
Places = Sequence[Sequence[Allocation]]
"""Memory for the outputs of calls in a row."""


@dataclass(frozen=True)
class Supplies:
    """Inputs, memory and samples for calls behind the gate."""

    sets: Sequence[InputSet]
    draw: Callable[[], Draw]
    """Makes new inputs."""
    outputs: Sequence[Allocation]
    """Memory for the outputs of one call."""
    shapes: Sequence[torch.Tensor]
    """Shapes of these outputs."""
    draw_sample: Callable[[], Sample | None]
    """Chooses random rows of an output to compare; None for all."""
    room_bytes: int
    """Memory for outputs."""
    areas: int | None
    """Number of calls in a row that can each have a flush; None if calls are not flushed."""


class GatedCalls:
    """The calls behind the gate, of the candidate and then of the baseline alone."""

    def __init__(
        self, memory: SharedMemory, supplies: Supplies, effort: Effort = FULL, *, replayed: bool = False, is_slow: bool = False
    ) -> None:
        """replayed: calls are graph replays, and take the sets in order, since a graph has fixed addresses. is_slow: the candidate makes
        one single call, and one more for the record.

        The number of calls in a row follows from sizes, not from the memory that the candidate leaves. Raises RuntimeError if memory runs
        out.
        """
        self._device, self._supplies, self._replayed, self._is_slow = memory.device, supplies, replayed, is_slow
        self._effort = effort
        answer_bytes = max(sum(allocation.nbytes for allocation in supplies.outputs), 1)
        sets = len(supplies.sets)
        length = max(1, min(sets, supplies.areas or sets, supplies.room_bytes // answer_bytes))
        more = [[memory.allocate(allocation.requested) for allocation in supplies.outputs] for _ in range(length - 1)]
        self.places: list[list[Allocation]] = [list(supplies.outputs), *more]

    @property
    def allocations(self) -> list[Allocation]:
        """All memory for outputs."""
        return [allocation for place in self.places for allocation in place]

    def probe(self, timed: TimedWorker) -> None:
        """Find out whether forward() waits for the device: then its calls can't be held behind the gate. Outputs are ignored."""
        for _ in range(PROBES if timed.is_gated else 0):
            timed.waits = False
            timed.burst(_plain(self._given(1)), [None])
            if timed.is_gated:
                return

    def run(self, timed: TimedWorker, check: Check, wrong: type[Exception]) -> None:
        """Time calls of the candidate, and compare outputs. Raises `wrong`, and the errors of `check`.

        The length of a burst follows from the claimed times. Claims that are too long are believed.

        A single call's output may be wrong behind the gate, because a stream did not wait there. If streams wait for each other, a call may
        be late, because the device switches between processes. In both cases, all is repeated without the gate.
        """
        self.places = self.places[: max(1, int(limits.BURST_MS / max(_claim_ms(timed), limits.LEAST_MS)))]
        if timed.is_gated:
            try:
                timed.held = self._run_singles(timed, check)
            except wrong:
                log.debug("an output was wrong behind the gate")
                timed.held = False
            every_place = self.places
            for run in (self._shorten, self._run_bursts, self._run_hot):
                if timed.is_gated:
                    run(timed, check)
            if timed.is_gated:
                return
            self.places = every_place
            timed.samples.forget_gated()
        self._run_singles(timed, check)
        self._run_bursts(timed, check)

    def _shorten(self, timed: TimedWorker, check: Check) -> None:
        """Make bursts so short that the device's queue holds their launches.

        Each launch takes a while, so the claims of a burst that exceeds the queue add up to at least QUEUE_MS. If they don't, something
        else keeps the worker from reporting that all is queued.
        """
        claim_ms = _claim_ms(timed)
        while len(self.places) > 1:
            self._run_row(timed, check, self.places)
            if timed.is_gated or len(self.places) * claim_ms < limits.QUEUE_MS:
                return
            timed.waits, self.places = False, self.places[: len(self.places) // 2]

    def time_kernels(self, timed: TimedWorker) -> None:
        """Make calls in which each launch is timed, for the record only. They decide no verdict."""
        if timed.worker.launches is None:
            return
        waits, deadline_s = timed.waits, timed.deadline_s
        timed.deadline_s = min(deadline_s, KERNELS_DEADLINE_S)
        try:
            with timed.worker.unjudged():
                for _ in islice(self._effort.kernels.turns(), 1 if self._is_slow else None):
                    timed.burst(_plain(self._given(1)), [None], kernels=True)
        except torch.OutOfMemoryError:
            log.info("there is no memory to time kernels")
        finally:
            timed.waits, timed.deadline_s = waits, deadline_s  # as for the calls that count

    def _confirmed(self, timed: TimedWorker, excess: Excess, places: Places, take: Callable[[], None]) -> bool:
        """Time rows until the judge's clock confirms the claims, there are enough, or the gate is lost. Returns whether it confirms them.

        Other programs, and pauses of the device, lengthen some rows and shorten none, so more rows find an honest claim true. What is
        charged is compared with the baseline alone, later.
        """
        repeats, was_gated = Repeats(1, 1, 0.0) if self._is_slow else ROWS, timed.is_gated
        idle_ms: list[float] = []
        for number in repeats.turns():
            take()
            if was_gated and not timed.is_gated:
                return False
            if (number + 1) % repeats.least == 0:
                idle_ms += self._idle_rows(timed, places, repeats.least, flushed=excess is not HOT)
                if self._holds(timed, excess, idle_ms, len(places)):
                    return True
        return False

    def _idle_rows(self, timed: TimedWorker, places: Places, count: int, *, flushed: bool) -> list[float]:
        """Times of the candidate's requests without calls. One that is held up says nothing of forward(), and is dropped."""
        arguments = [self._supplies.draw().arguments for _ in places]
        times_ms = []
        for _ in range(count):
            waits = timed.waits
            took_ms, late_ms = self._idle_row(timed, timed, arguments, flushed=flushed)
            if timed.waits == waits:
                times_ms.append(took_ms + (late_ms / len(places) if len(places) > 1 else 0.0))
            timed.waits = waits
        return times_ms

    @staticmethod
    def _holds(timed: TimedWorker, excess: Excess, idle_ms: Sequence[float], in_a_row: int) -> bool:
        """Whether rows take no longer than those without calls, and the claims, with a margin, since the baseline alone may be quicker."""
        if not idle_ms or not timed.samples.event_ms or not getattr(timed.samples, excess.samples):
            return False
        idle = TimingSide(median_ms=0.0, lower_quartile_ms=0.0, upper_quartile_ms=0.0, samples_ms=())
        idle = idle.model_copy(update={excess.samples: tuple(idle_ms)})
        sides = Sides(timed.summary(EVENTS_MS), idle, idle, timed.is_gated, in_a_row)
        late_ms, usual_ms = excess.excess_ms(sides)
        margin_ms = 0.0 if excess is SINGLE else limits.BURST_SLACK_MS / in_a_row / 2
        return late_ms <= excess.slack_ms(sides, usual_ms) - margin_ms

    def run_idle(self, alone: TimedWorker, candidate: TimedWorker) -> None:
        """Time everything but the calls, equally often. The worker's last output must not have been revealed."""
        arguments = [self._supplies.draw().arguments for _ in self.places]  # the same for all rows, since forward() does not see them
        for _ in candidate.samples.single_ms:
            took_ms, late_ms = self._idle_row(alone, candidate, arguments[:1])
            alone.samples.single_ms.append(took_ms)
            alone.samples.landed_ms.append(took_ms + late_ms)
        for _ in candidate.samples.burst_ms:
            took_ms, late_ms = self._idle_row(alone, candidate, arguments)
            alone.samples.burst_ms.append(took_ms + late_ms / len(self.places))
        for _ in candidate.samples.hot_ms:
            took_ms, late_ms = self._idle_row(alone, candidate, arguments, flushed=False)
            alone.samples.hot_ms.append(took_ms + late_ms / len(self.places))

    def _idle_row(
        self, alone: TimedWorker, candidate: TimedWorker, arguments: list[list[Any]], *, flushed: bool = True
    ) -> tuple[float, float]:
        places = self.places[: len(arguments)]
        alone.held, alone.waits = candidate.held, candidate.waits  # the same requests as the candidate's, even if this one is delayed
        land = self._landing(alone, places)
        took_ms = self._idle(alone, arguments, flushed=flushed)
        return took_ms, land()[1]

    def _idle(self, timed: TimedWorker, arguments: list[list[Any]], *, flushed: bool = True) -> float:
        given = list(zip(self._chosen(len(arguments)), arguments, strict=True))
        return timed.burst(given, self._views(timed, self.places[: len(arguments)]), calls=False, flushed=flushed)

    def _run_singles(self, timed: TimedWorker, check: Check) -> bool:
        """Time single calls. Returns whether they were held, and the judge's clock confirms the claims."""
        self._run_recorded(timed, check, self.places[:1])
        samples = timed.samples

        def take() -> None:
            took_ms, late_ms = self._run_row(timed, check, self.places[:1])
            if timed.is_flushed():
                samples.single_ms.append(took_ms)
                samples.landed_ms.append(took_ms + late_ms)

        return self._confirmed(timed, SINGLE, self.places[:1], take) and not timed.waits

    def _run_bursts(self, timed: TimedWorker, check: Check) -> None:
        """Time bursts. Do nothing if memory or time suffices for one call only."""
        if len(self.places) > 1:
            self._run_recorded(timed, check, self.places)
            self._run_rows(timed, check, BURST)

    def _run_hot(self, timed: TimedWorker, check: Check) -> None:
        """Time bursts without flushes: a side stream of the submission could work unseen during a flush.

        Calls take no longer without flushes, so the claims also hold here.
        """
        if len(self.places) > 1 and timed.flush is not None:
            self._run_rows(timed, check, HOT)

    def _run_rows(self, timed: TimedWorker, check: Check, excess: Excess) -> None:
        samples_ms: list[float] = getattr(timed.samples, excess.samples)
        flushed = excess is not HOT

        def take() -> None:
            took_ms, late_ms = self._run_row(timed, check, self.places, flushed=flushed)
            if not flushed or timed.is_flushed():
                samples_ms.append(took_ms + late_ms / len(self.places))

        self._confirmed(timed, excess, self.places, take)

    def _run_recorded(self, timed: TimedWorker, check: Check, places: Places) -> None:
        """Make calls that are no samples: the worker saw the inputs of the first replay when it recorded the graph."""
        if self._replayed:
            self._run_row(timed, check, places)

    def _run_row(self, timed: TimedWorker, check: Check, places: Places, *, flushed: bool = True) -> tuple[float, float]:
        """Make calls in a row, one for each place. Returns the time per call, and the time until some outputs were copied to the judge."""
        was_gated, land = timed.is_gated, self._landing(timed, places)
        views = self._views(timed, places)
        given = self._given(len(places))
        took_ms = timed.burst(_plain(given), views, flushed=flushed)
        if was_gated and timed.waits:  # the machine may have delayed it once
            timed.waits = False
            given.clear()  # memory may not suffice for both
            given = self._given(len(places))
            took_ms = timed.burst(_plain(given), views, flushed=flushed)
        answers, late_ms = land()  # first, so that the worker gains no time
        timed.samples.unflushed_bursts += flushed and not timed.is_flushed()
        for number, taken in answers.items():
            check(taken, *given[number])
        return took_ms, late_ms

    def _landing(self, timed: TimedWorker, places: Places) -> Callable[[], tuple[dict[int, Taken], float]]:
        """A function that copies the outputs of some random places, chosen now, to the judge.

        It also returns how long that took, in ms, since a worker may report too early that it is done.
        """
        supplies = self._supplies
        samples = {number: supplies.draw_sample() for number in chance.sample(range(len(places)), min(limits.PICKED, len(places)))}
        copies = {number: copying(places[number], timed.claims, supplies.shapes, sample) for number, sample in samples.items()}

        def land() -> tuple[dict[int, Taken], float]:
            start = time.perf_counter()
            answers = {number: Taken(copy(), samples[number]) for number, copy in copies.items()}
            synchronize(self._device)
            return answers, (time.perf_counter() - start) * 1e3

        return land

    def _given(self, count: int) -> list[tuple[InputSet, Draw]]:
        return [(inputs, self._supplies.draw()) for inputs in self._chosen(count)]

    def _chosen(self, count: int) -> Sequence[InputSet]:
        sets = self._supplies.sets
        return sets[:count] if self._replayed else chance.sample(list(sets), count)

    def _views(self, timed: TimedWorker, places: Places) -> list[list[dict[str, Any] | None]]:
        return [views_into(place, timed.claims, timed.described, self._supplies.shapes) for place in places]


def _claim_ms(timed: TimedWorker) -> float:
    """The claimed time of a call; 0 without claims."""
    return statistics.median(timed.samples.event_ms) if timed.samples.event_ms else 0.0


def _plain(given: Sequence[tuple[InputSet, Draw]]) -> Given:
    return [(inputs, draw.arguments) for inputs, draw in given]
