"""Calls behind the gate, the judge's own witness to what calls on a GPU take.

One at a time, and several back to back, which tell small kernels more precisely; each with inputs, a flush and a place for its answer of
its own. What is in the time beside the calls is learned from the baseline alone, which does the same without them. The answers of single
calls are all compared, and some of each burst, as they are when the worker says that it is done.
"""

import logging
import secrets
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.judge.correctness.readback import copying, views_into
from evaluator.judge.correctness.rounds import synchronize
from evaluator.judge.correctness.row_sampling import Sample
from evaluator.judge.timing.cross_check import least, single_slack_ms
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
"""Calls by which it is told whether forward() waits; the first may have been held up by chance."""
QUEUE_MS = 1.0
"""What as many launches take at the least as the device's queue holds: 1024."""
BURST_MS = 40.0
"""No burst is of more calls than take about so long: a slow call is told as well alone."""
KERNEL_CALLS = 3
KERNELS_S = 0.3
"""Calls in which the time of each kernel is taken; no further one when so much time has passed."""
KERNELS_DEADLINE_S = 5.0
"""Of each request for one. Nothing is held against who misses it, so that nobody may have the device for longer."""
CHECKED = 4
"""Answers of a burst that are compared; which ones, nobody but the judge knows."""
ROOM_BYTES = 4 << 30
ROOM_SHARE = 1 / 16
"""Memory for inputs beyond the first's, as much for answers, and for flushes: so much, and of a small GPU no more than this share."""

_random = secrets.SystemRandom()

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Taken:
    """The judge's own copy of an answer, or of a sample of its rows."""

    values: list[torch.Tensor]
    sample: Sample | None


Check = Callable[[Taken, InputSet, list[Any]], None]
"""Compares the answer to these inputs with the reference's, and raises where it is wrong."""


class GatedCalls:
    """The calls behind the gate, of the candidate and then of the baseline alone."""

    def __init__(
        self,
        memory: SharedMemory,
        sets: Sequence[InputSet],
        outputs: Sequence[Allocation],
        shapes: Sequence[torch.Tensor],
        draw: Callable[[], list[Any]],
        draw_sample: Callable[[], Sample | None],
        areas: int | None,
        *,
        replayed: bool = False,
    ) -> None:
        """`outputs` are memory for one answer, of these shapes; `draw` makes new inputs, `draw_sample` says which rows are compared; so
        many calls in a row can each have a flush, or as many as there are sets. Where calls are replays of graphs, `replayed`, they take
        the sets in their order: a graph knows its inputs by their place.

        How many there are in a row is a matter of sizes, and not of what the candidate leaves of the memory. Raises RuntimeError where
        there is none.
        """
        self._device, self._sets, self._shapes = memory.device, sets, shapes
        self._draw, self._draw_sample, self._replayed = draw, draw_sample, replayed
        length = max(
            1, min(len(sets), areas or len(sets), room_bytes(memory.device) // max(sum(allocation.nbytes for allocation in outputs), 1))
        )
        more = [[memory.allocate(allocation.requested) for allocation in outputs] for _ in range(length - 1)]
        self.places: list[list[Allocation]] = [list(outputs), *more]

    @property
    def allocations(self) -> list[Allocation]:
        """All memory for answers."""
        return [allocation for place in self.places for allocation in place]

    def probe(self, side: TimedWorker) -> None:
        """See whether forward() waits for the device, so that its calls can't be held behind the gate; nothing else is looked at."""
        for _ in range(PROBES if side.is_gated else 0):
            side.waits = False
            side.burst(self._given(1), [None])
            if side.is_gated:
                return

    def run(self, side: TimedWorker, check: Check, wrong: type[Exception]) -> None:
        """Time calls of the candidate, and compare answers. Raises `wrong`, and what `check` does.

        How many are in a row follows from what calls are claimed to take: who claims more than they do is believed.

        What is wrong behind the gate in single calls may come of a stream that did not wait there; what is late may be, where streams wait
        for each other, for the device's change between processes. Then all is done without a gate.
        """
        if side.claims_ms:
            self.places = self.places[: max(1, int(BURST_MS / statistics.median(side.claims_ms)))]
        if side.is_gated:
            try:
                self._run_singles(side, check)
                side.held = not self._is_late(side)
            except wrong:
                log.debug("an answer was wrong behind the gate")
                side.held = False
            every_place = self.places
            if side.is_gated:
                self._shorten(side, check)
            if side.is_gated:
                self._run_in_rows(side, check)
            if side.is_gated:
                self._run_hot(side, check)
            if side.is_gated:
                return
            self.places = every_place
            for times_ms in (side.single_ms, side.landed_ms, side.burst_ms, side.hot_ms):
                times_ms.clear()
        self._run_singles(side, check)
        self._run_in_rows(side, check)

    def _shorten(self, side: TimedWorker, check: Check) -> None:
        """Make rows so short that the device's queue holds their launches. Each launch takes a while, so that the claims of a row which the
        queue does not hold add up; where they don't, it is something else that keeps the worker from saying that all is queued."""
        claim_ms = statistics.median(side.claims_ms) if side.claims_ms else 0.0
        while len(self.places) > 1:
            self._run_row(side, check, self.places)
            if side.is_gated or len(self.places) * claim_ms < QUEUE_MS:
                return
            side.waits, self.places = False, self.places[: len(self.places) // 2]

    def time_kernels(self, side: TimedWorker) -> None:
        """Calls in which the time of each launch is taken, for the record: whatever comes of them, nothing is judged by it."""
        if side.worker.launches is None:
            return
        start, waits, deadline_s = time.monotonic(), side.waits, side.deadline_s
        side.deadline_s = min(deadline_s, KERNELS_DEADLINE_S)
        try:
            with side.worker.unjudged():
                for number in range(KERNEL_CALLS):
                    if not number or time.monotonic() - start <= KERNELS_S:
                        side.burst(self._given(1), [None], kernels=True)
        except torch.OutOfMemoryError:
            log.info("there is no memory to time kernels with")
        finally:
            side.waits, side.deadline_s = waits, deadline_s  # as for the calls that count

    def _is_late(self, side: TimedWorker) -> bool:
        """Whether calls waited for the device, or seem to take longer than they claim, by what the worker itself takes without them: this
        decides nothing else than how the time is taken."""
        if side.waits or not side.single_ms:
            return True
        idle_ms = [self._idle(side, self.places[:1]) for _ in range(LEAST_SINGLES)]
        claim_ms = statistics.median(side.claims_ms)
        return least(side.single_ms) - least(idle_ms) - claim_ms > single_slack_ms(claim_ms, gated=True)

    def run_idle(self, alone: TimedWorker, candidate: TimedWorker) -> None:
        """Time the same without the calls, as often, of a worker whose last answer has not been revealed."""
        for _ in candidate.single_ms:
            took_ms, late_ms = self._idle_row(alone, candidate, self.places[:1])
            alone.single_ms.append(took_ms)
            alone.landed_ms.append(took_ms + late_ms)
        for _ in candidate.burst_ms:
            took_ms, late_ms = self._idle_row(alone, candidate, self.places)
            alone.burst_ms.append(took_ms + late_ms / len(self.places))
        for _ in candidate.hot_ms:
            took_ms, late_ms = self._idle_row(alone, candidate, self.places, flushed=False)
            alone.hot_ms.append(took_ms + late_ms / len(self.places))

    def _idle_row(
        self, alone: TimedWorker, candidate: TimedWorker, places: Sequence[Sequence[Allocation]], *, flushed: bool = True
    ) -> tuple[float, float]:
        alone.held, alone.waits = candidate.held, candidate.waits  # as the candidate was asked, whatever delays this one
        land = self._landing(alone, places)
        took_ms = self._idle(alone, places, flushed=flushed)
        return took_ms, land()[1]

    def _idle(self, side: TimedWorker, places: Sequence[Sequence[Allocation]], *, flushed: bool = True) -> float:
        return side.burst(self._given(len(places)), [self._views(side, place) for place in places], calls=False, flushed=flushed)

    def _run_singles(self, side: TimedWorker, check: Check) -> None:
        self._run_recorded(side, check, self.places[:1])
        start = time.monotonic()
        for number in range(SINGLES):
            if number >= LEAST_SINGLES and time.monotonic() - start > SINGLES_S:
                return
            took_ms, late_ms = self._run_row(side, check, self.places[:1])
            if side.is_flushed():
                side.single_ms.append(took_ms)
                side.landed_ms.append(took_ms + late_ms)

    def _run_in_rows(self, side: TimedWorker, check: Check) -> None:
        """Bursts: none where there is memory, or time, for one call."""
        if len(self.places) > 1:
            self._run_recorded(side, check, self.places)
        start = time.monotonic()
        for number in range(BURSTS if len(self.places) > 1 else 0):
            if number >= LEAST_BURSTS and time.monotonic() - start > BURSTS_S:
                return
            took_ms, late_ms = self._run_row(side, check, self.places)
            if side.is_flushed():
                side.burst_ms.append(took_ms + late_ms / len(self.places))

    def _run_hot(self, side: TimedWorker, check: Check) -> None:
        """Bursts without the flushes, in whose time a stream of the submission's own could work unseen. Without them calls take no longer,
        so that a claim holds here too."""
        start = time.monotonic()
        for number in range(HOT_BURSTS if len(self.places) > 1 and side.flush is not None else 0):
            if number >= LEAST_HOT_BURSTS and time.monotonic() - start > HOT_BURSTS_S:
                return
            took_ms, late_ms = self._run_row(side, check, self.places, flushed=False)
            side.hot_ms.append(took_ms + late_ms / len(self.places))

    def _run_recorded(self, side: TimedWorker, check: Check, places: Sequence[Sequence[Allocation]]) -> None:
        """Calls that are no sample: whoever has them recorded has seen the inputs of the first replay before."""
        if self._replayed:
            self._run_row(side, check, places)

    def _run_row(
        self, side: TimedWorker, check: Check, places: Sequence[Sequence[Allocation]], *, flushed: bool = True
    ) -> tuple[float, float]:
        """Calls in a row, as many as there are places: the time of one, and how much later some of the answers were the judge's own."""
        was_gated, land = side.is_gated, self._landing(side, places)
        views = [self._views(side, place) for place in places]
        given = self._given(len(places))
        took_ms = side.burst(given, views, flushed=flushed)
        if was_gated and side.waits:  # the machine may have held it up, which is not for good
            side.waits = False
            given.clear()  # there may be no memory for both
            given = self._given(len(places))
            took_ms = side.burst(given, views, flushed=flushed)
        answers, late_ms = land()  # before anything else gives the worker time
        side.unflushed_bursts += flushed and not side.is_flushed()
        for number, taken in answers.items():
            check(taken, *given[number])
        return took_ms, late_ms

    def _landing(self, side: TimedWorker, places: Sequence[Sequence[Allocation]]) -> Callable[[], tuple[dict[int, Taken], float]]:
        """What makes the answers in some of these places, drawn now, the judge's own as they are when it is called, and says how long that
        took, in ms.

        A worker may say too early that it is done.
        """
        samples = {number: self._draw_sample() for number in _random.sample(range(len(places)), min(CHECKED, len(places)))}
        copies = {number: copying(places[number], side.claims, self._shapes, sample) for number, sample in samples.items()}

        def land() -> tuple[dict[int, Taken], float]:
            start = time.perf_counter()
            answers = {number: Taken(copy(), samples[number]) for number, copy in copies.items()}
            synchronize(self._device)
            return answers, (time.perf_counter() - start) * 1e3

        return land

    def _given(self, count: int) -> list[tuple[InputSet, list[Any]]]:
        sets = self._sets[:count] if self._replayed else _random.sample(list(self._sets), count)
        return [(inputs, self._draw()) for inputs in sets]

    def _views(self, side: TimedWorker, place: Sequence[Allocation]) -> list[dict[str, Any] | None]:
        return views_into(place, side.claims, side.described, self._shapes)


def room_bytes(device: torch.device) -> int:
    """How much memory inputs may take, or answers, so that there can be several calls in a row."""
    if device.type != "cuda":
        return ROOM_BYTES // 4
    return min(ROOM_BYTES, int(ROOM_SHARE * torch.cuda.get_device_properties(device).total_memory))
