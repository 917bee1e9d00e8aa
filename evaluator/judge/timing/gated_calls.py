"""Calls behind the gate (a blocking kernel, in nvbench's words): the judge's own measurement of calls on a GPU.

Single calls are nvbench's cold measurement. Bursts, several calls back to back, are its batch or hot one, and tell small kernels more
precisely. Each call has inputs, a flush and a place for its answer of its own. The baseline alone does the same without the calls, which
shows what else is in the time. All answers of single calls are compared, and some of each burst, as they are when the worker says it is
done.
"""

import logging
import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.judge.correctness.readback import copying, views_into
from evaluator.judge.correctness.row_sampling import Sample
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.timing.cross_check import least, single_slack_ms
from evaluator.judge.timing.setup import room_bytes
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory

SINGLES = 15
LEAST_SINGLES = 3
SINGLES_S = 0.2
"""With LEAST_SINGLES done, slow calls are repeated no longer than this."""
BURSTS = 15
LEAST_BURSTS = 5
BURSTS_S = 0.3
"""The same of bursts."""
HOT_BURSTS = 7
LEAST_HOT_BURSTS = 3
HOT_BURSTS_S = 0.1
"""The same of bursts without flushes."""
PROBES = 2
"""Calls that show whether forward() waits; the first may have been held up by chance."""
QUEUE_MS = 1.0
"""The least time of as many launches as the device's queue holds: 1024."""
BURST_MS = 15.0
"""A burst has no more calls than take about so long: a call that is slower than half of it is measured as well alone."""
KERNEL_CALLS = 3
KERNELS_S = 0.3
"""Calls in which each kernel is timed; after this time no further one begins."""
KERNELS_DEADLINE_S = 5.0
"""Deadline of each of these requests. Missing it has no consequence, so it must not hold the device for long."""
CHECKED = 4
"""Answers of a burst that are compared; only the judge knows which."""

_random = secrets.SystemRandom()

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Taken:
    """The judge's own copy of an answer, or of a sample of its rows."""

    values: list[torch.Tensor]
    sample: Sample | None


Check = Callable[[Taken, InputSet, list[Any]], None]
"""Compares the answer to these inputs with the reference's, and raises where it is wrong."""
Places = Sequence[Sequence[Allocation]]
"""Memory for the answers of calls in a row."""


@dataclass(frozen=True)
class Supplies:
    """What calls behind the gate are made with."""

    sets: Sequence[InputSet]
    draw: Callable[[], list[Any]]
    """Makes new inputs."""
    outputs: Sequence[Allocation]
    """Memory for one answer."""
    shapes: Sequence[torch.Tensor]
    """Its tensors' shapes."""
    draw_sample: Callable[[], Sample | None]
    """Draws the rows of an answer that are compared; None for all."""
    areas: int | None
    """How many calls in a row can have a flush each; None where calls are not flushed."""


class GatedCalls:
    """The calls behind the gate, of the candidate and then of the baseline alone."""

    def __init__(self, memory: SharedMemory, supplies: Supplies, *, replayed: bool = False, is_slow: bool = False) -> None:
        """Where calls are replays of graphs, `replayed`, they take the sets in order: a graph knows its inputs by their place. A
        candidate that `is_slow` makes one single call, and one more for the record.

        How many calls are in a row follows from sizes, not from the memory that the candidate leaves. Raises RuntimeError where there is
        no memory.
        """
        self._device, self._supplies, self._replayed, self._is_slow = memory.device, supplies, replayed, is_slow
        answer_bytes = max(sum(allocation.nbytes for allocation in supplies.outputs), 1)
        sets = len(supplies.sets)
        length = max(1, min(sets, supplies.areas or sets, room_bytes(memory.device) // answer_bytes))
        more = [[memory.allocate(allocation.requested) for allocation in supplies.outputs] for _ in range(length - 1)]
        self.places: list[list[Allocation]] = [list(supplies.outputs), *more]

    @property
    def allocations(self) -> list[Allocation]:
        """All memory for answers."""
        return [allocation for place in self.places for allocation in place]

    def probe(self, timed: TimedWorker) -> None:
        """See whether forward() waits for the device, so that its calls can't be held behind the gate. Answers are not looked at."""
        for _ in range(PROBES if timed.is_gated else 0):
            timed.waits = False
            timed.burst(self._given(1), [None])
            if timed.is_gated:
                return

    def run(self, timed: TimedWorker, check: Check, wrong: type[Exception]) -> None:
        """Time calls of the candidate, and compare answers. Raises `wrong`, and what `check` does.

        The length of a burst follows from the claimed times; a claim that is too long is believed.

        A single call's answer may be wrong behind the gate because of a stream that did not wait there. A call may be late, where streams
        wait for each other, because the device changes between processes. In both cases all is repeated without the gate.
        """
        event_ms = timed.samples.event_ms
        if event_ms:
            self.places = self.places[: max(1, int(BURST_MS / statistics.median(event_ms)))]
        if timed.is_gated:
            try:
                self._run_singles(timed, check)
                timed.held = not self._is_late(timed)
            except wrong:
                log.debug("an answer was wrong behind the gate")
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

        Each launch takes a while, so the claims of a burst that the queue does not hold add up to QUEUE_MS. If they don't, something else
        keeps the worker from saying that all is queued.
        """
        claim_ms = statistics.median(timed.samples.event_ms) if timed.samples.event_ms else 0.0
        while len(self.places) > 1:
            self._run_row(timed, check, self.places)
            if timed.is_gated or len(self.places) * claim_ms < QUEUE_MS:
                return
            timed.waits, self.places = False, self.places[: len(self.places) // 2]

    def time_kernels(self, timed: TimedWorker) -> None:
        """Calls in which each launch is timed, for the record only: no verdict depends on them."""
        if timed.worker.launches is None:
            return
        waits, deadline_s = timed.waits, timed.deadline_s
        timed.deadline_s = min(deadline_s, KERNELS_DEADLINE_S)
        try:
            with timed.worker.unjudged():
                for _ in _repetitions(1 if self._is_slow else KERNEL_CALLS, 1, KERNELS_S):
                    timed.burst(self._given(1), [None], kernels=True)
        except torch.OutOfMemoryError:
            log.info("there is no memory to time kernels with")
        finally:
            timed.waits, timed.deadline_s = waits, deadline_s  # as for the calls that count

    def _is_late(self, timed: TimedWorker) -> bool:
        """Whether calls waited for the device, or seem longer than their claims by what the worker itself takes without them.

        This decides only how the time is taken.
        """
        if timed.waits or not timed.samples.single_ms:
            return True
        idle_ms = [self._idle(timed, self.places[:1]) for _ in range(LEAST_SINGLES)]
        claim_ms = statistics.median(timed.samples.event_ms)
        return least(timed.samples.single_ms) - least(idle_ms) - claim_ms > single_slack_ms(claim_ms, gated=True)

    def run_idle(self, alone: TimedWorker, candidate: TimedWorker) -> None:
        """Time everything but the calls, as often, of a worker whose last answer has not been revealed."""
        for _ in candidate.samples.single_ms:
            took_ms, late_ms = self._idle_row(alone, candidate, self.places[:1])
            alone.samples.single_ms.append(took_ms)
            alone.samples.landed_ms.append(took_ms + late_ms)
        for _ in candidate.samples.burst_ms:
            took_ms, late_ms = self._idle_row(alone, candidate, self.places)
            alone.samples.burst_ms.append(took_ms + late_ms / len(self.places))
        for _ in candidate.samples.hot_ms:
            took_ms, late_ms = self._idle_row(alone, candidate, self.places, flushed=False)
            alone.samples.hot_ms.append(took_ms + late_ms / len(self.places))

    def _idle_row(self, alone: TimedWorker, candidate: TimedWorker, places: Places, *, flushed: bool = True) -> tuple[float, float]:
        alone.held, alone.waits = candidate.held, candidate.waits  # as the candidate was asked, whatever delays this one
        land = self._landing(alone, places)
        took_ms = self._idle(alone, places, flushed=flushed)
        return took_ms, land()[1]

    def _idle(self, timed: TimedWorker, places: Places, *, flushed: bool = True) -> float:
        return timed.burst(self._given(len(places)), self._views(timed, places), calls=False, flushed=flushed)

    def _run_singles(self, timed: TimedWorker, check: Check) -> None:
        self._run_recorded(timed, check, self.places[:1])
        for _ in range(1) if self._is_slow else _repetitions(SINGLES, LEAST_SINGLES, SINGLES_S):
            took_ms, late_ms = self._run_row(timed, check, self.places[:1])
            if timed.is_flushed():
                timed.samples.single_ms.append(took_ms)
                timed.samples.landed_ms.append(took_ms + late_ms)

    def _run_bursts(self, timed: TimedWorker, check: Check) -> None:
        """None where there is memory, or time, for one call only."""
        if len(self.places) == 1:
            return
        self._run_recorded(timed, check, self.places)
        for _ in _repetitions(BURSTS, LEAST_BURSTS, BURSTS_S):
            took_ms, late_ms = self._run_row(timed, check, self.places)
            if timed.is_flushed():
                timed.samples.burst_ms.append(took_ms + late_ms / len(self.places))

    def _run_hot(self, timed: TimedWorker, check: Check) -> None:
        """Bursts without flushes, in whose time a stream of the submission's own could work unseen.

        Calls take no longer without flushes, so the claims hold here too.
        """
        if len(self.places) == 1 or timed.flush is None:
            return
        for _ in _repetitions(HOT_BURSTS, LEAST_HOT_BURSTS, HOT_BURSTS_S):
            took_ms, late_ms = self._run_row(timed, check, self.places, flushed=False)
            timed.samples.hot_ms.append(took_ms + late_ms / len(self.places))

    def _run_recorded(self, timed: TimedWorker, check: Check, places: Places) -> None:
        """Calls that are no sample: the worker saw the inputs of the first replay when it recorded the graph."""
        if self._replayed:
            self._run_row(timed, check, places)

    def _run_row(self, timed: TimedWorker, check: Check, places: Places, *, flushed: bool = True) -> tuple[float, float]:
        """Calls in a row, one for each place: the time of one, and how much later some of the answers were the judge's own."""
        was_gated, land = timed.is_gated, self._landing(timed, places)
        views = self._views(timed, places)
        given = self._given(len(places))
        took_ms = timed.burst(given, views, flushed=flushed)
        if was_gated and timed.waits:  # the machine may have held it up, which is not for good
            timed.waits = False
            given.clear()  # there may be no memory for both
            given = self._given(len(places))
            took_ms = timed.burst(given, views, flushed=flushed)
        answers, late_ms = land()  # before anything else gives the worker time
        timed.samples.unflushed_bursts += flushed and not timed.is_flushed()
        for number, taken in answers.items():
            check(taken, *given[number])
        return took_ms, late_ms

    def _landing(self, timed: TimedWorker, places: Places) -> Callable[[], tuple[dict[int, Taken], float]]:
        """A function that copies the answers in some places, drawn now, to the judge, as they are when it is called.

        It says how long that took, in ms: a worker may say too early that it is done.
        """
        supplies = self._supplies
        samples = {number: supplies.draw_sample() for number in _random.sample(range(len(places)), min(CHECKED, len(places)))}
        copies = {number: copying(places[number], timed.claims, supplies.shapes, sample) for number, sample in samples.items()}

        def land() -> tuple[dict[int, Taken], float]:
            start = time.perf_counter()
            answers = {number: Taken(copy(), samples[number]) for number, copy in copies.items()}
            synchronize(self._device)
            return answers, (time.perf_counter() - start) * 1e3

        return land

    def _given(self, count: int) -> list[tuple[InputSet, list[Any]]]:
        sets = self._supplies.sets
        chosen = sets[:count] if self._replayed else _random.sample(list(sets), count)
        return [(inputs, self._supplies.draw()) for inputs in chosen]

    def _views(self, timed: TimedWorker, places: Places) -> list[list[dict[str, Any] | None]]:
        return [views_into(place, timed.claims, timed.described, self._supplies.shapes) for place in places]


def _repetitions(most: int, least: int, seconds: float) -> Iterator[None]:
    """As many turns as are wanted: `most`, or fewer once `seconds` have passed, but at least `least`."""
    start = time.monotonic()
    for number in range(most):
        if number >= least and time.monotonic() - start > seconds:
            return
        yield
