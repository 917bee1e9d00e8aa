"""Calls behind the gate (a blocking kernel, in nvbench's words): the judge's own measurement of calls on a GPU.

Single calls are nvbench's cold measurement. Bursts, several calls back to back, are its batch or hot measurement, and time small kernels
more precisely. Each call has its own inputs, flush and place for its output. The baseline alone does the same without the calls, to measure
the overhead. The judge compares all outputs of single calls, and some of each burst, as they are when the worker's stream is done.
"""

import logging
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from evaluator.chance import chance
from evaluator.judge import limits
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.readback import copying, views_into
from evaluator.judge.correctness.rounds import KERNELS_S
from evaluator.judge.correctness.row_sampling import Sample
from evaluator.judge.timing.checks.cross_check import BURST, HOT, SINGLE, Excess
from evaluator.judge.timing.effort import FULL, Effort
from evaluator.judge.timing.gpu.stream_gate import MOST_COPIES
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.judge.workers.input_buffers import Given, InputSet
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory

PROBES = 2
"""Calls that show whether forward() waits. More than one, since the first may be delayed by chance."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Taken:
    """The judge's own copy of an output, or of a sample of its rows."""

    values: list[torch.Tensor]
    sample: Sample | None


class Landing:
    """Copies outputs of some random places, chosen now, to the judge. Calling it only enqueues the copies."""

    def __init__(self, places: "Places", timed: TimedWorker, supplies: "Supplies") -> None:
        picked = chance.sample(range(len(places)), min(limits.PICKED, len(places)))
        samples = {number: supplies.draw_sample() for number in picked}
        self._copies = {
            number: (copying(places[number], timed.claims, supplies.shapes, sample), sample) for number, sample in samples.items()
        }
        self.taken: dict[int, Taken] = {}
        """The copies, by the numbers of their places."""
        self()  # so that nothing has to be loaded for it behind the gate

    def __call__(self) -> None:
        self.taken = {number: Taken(copy(), sample) for number, (copy, sample) in self._copies.items()}


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
        copies = len(supplies.sets[0].allocations) + len(supplies.outputs)
        length = max(1, min(sets, supplies.areas or sets, supplies.room_bytes // answer_bytes, MOST_COPIES // max(copies, 1)))
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

        A single call's output may be wrong behind the gate, because a stream did not wait there. Then all is repeated without the gate.
        """
        self.places = self.places[: max(1, int(limits.BURST_MS / max(_claim_ms(timed), limits.LEAST_MS)))]
        if timed.is_gated:
            try:
                self._run_singles(timed, check)
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
        timed.deadline_s = min(deadline_s, KERNELS_S)
        try:
            with timed.worker.unjudged():
                for _ in islice(self._effort.kernels.turns(), 1 if self._is_slow else None):
                    timed.burst(_plain(self._given(1)), [None], kernels=True)
        except torch.OutOfMemoryError:
            log.info("there is no memory to time kernels")
        finally:
            timed.waits, timed.deadline_s = waits, deadline_s  # as for the calls that count

    def run_idle(self, alone: TimedWorker, candidate: TimedWorker) -> None:
        """Time everything but the calls, equally often. The worker's last output must not have been revealed."""
        arguments = [self._supplies.draw().arguments for _ in self.places]  # the same for all rows, since forward() does not see them
        rows = ((SINGLE, self.places[:1]), (BURST, self.places), (HOT, self.places))
        for kind, places in rows:
            for _ in kind.times_ms(candidate.samples):
                alone.held, alone.waits = candidate.held, candidate.waits  # the same requests as the candidate's, even if one is delayed
                given = list(zip(self._chosen(len(places)), arguments, strict=False))
                views, land = self._views(alone, places), Landing(places, alone, self._supplies)
                kind.times_ms(alone.samples).append(alone.burst(given, views, land, calls=False, flushed=kind is not HOT))

    def _run_rows(self, timed: TimedWorker, check: Check, kind: Excess, places: Places) -> None:
        """Time rows of this kind. Stop if the gate is lost."""
        was_gated, flushed = timed.is_gated, kind is not HOT
        for _ in islice((self._effort.rows if was_gated else self._effort.ungated_rows).turns(), 1 if self._is_slow else None):
            took_ms = self._run_row(timed, check, places, flushed=flushed)
            if not flushed or timed.is_flushed():
                kind.times_ms(timed.samples).append(took_ms)
            if was_gated and not timed.is_gated:
                return

    def _run_singles(self, timed: TimedWorker, check: Check) -> None:
        self._run_recorded(timed, check, self.places[:1])
        self._run_rows(timed, check, SINGLE, self.places[:1])

    def _run_bursts(self, timed: TimedWorker, check: Check) -> None:
        """Time bursts. Do nothing if memory or time suffices for one call only."""
        if len(self.places) > 1:
            self._run_recorded(timed, check, self.places)
            self._run_rows(timed, check, BURST, self.places)

    def _run_hot(self, timed: TimedWorker, check: Check) -> None:
        """Time bursts without flushes: a side stream of the submission could work unseen during a flush.

        Calls take no longer without flushes, so the claims also hold here.
        """
        if len(self.places) > 1 and timed.flush is not None:
            self._run_rows(timed, check, HOT, self.places)

    def _run_recorded(self, timed: TimedWorker, check: Check, places: Places) -> None:
        """Make calls that are no samples: the worker saw the inputs of the first replay when it recorded the graph."""
        if self._replayed:
            self._run_row(timed, check, places)

    def _run_row(self, timed: TimedWorker, check: Check, places: Places, *, flushed: bool = True) -> float:
        """Make calls in a row, one for each place, and compare some outputs. Returns the time per call."""
        was_gated, land = timed.is_gated, Landing(places, timed, self._supplies)
        views = self._views(timed, places)
        given = self._given(len(places))
        took_ms = timed.burst(_plain(given), views, land, flushed=flushed)
        if was_gated and timed.waits:  # the machine may have delayed it once
            timed.waits = False
            given.clear()  # memory may not suffice for both
            given = self._given(len(places))
            took_ms = timed.burst(_plain(given), views, land, flushed=flushed)
        timed.samples.unflushed_bursts += flushed and not timed.is_flushed()
        for number, taken in land.taken.items():
            check(taken, *given[number])
        return took_ms

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
