"""Time: candidate and baseline in two workers of the same kind, taking turns over the same fresh inputs.

On a GPU a sample is one call, with cold L2, timed by device events in the worker. That is a claim: the judge's own clock runs over every
block of calls, and what the baseline's blocks cost beyond their events (the L2 flush, the talk) says what the candidate's may. On the
CPU a sample is a block of calls by the judge's clock, divided by their number.
"""

import math
import random
import statistics
import time
from dataclasses import dataclass, field

import torch

from evaluator.judge.inputs import InputSet, fresh_seed
from evaluator.judge.memory import Memory
from evaluator.judge.session import Worker
from evaluator.problem import ProblemCase
from evaluator.result import TimingEvidence, TimingSide
from evaluator.worker.protocol import Message, ProtocolError

MIN_CALLS = 30
ENOUGH_S = 0.5
"""With MIN_CALLS done, stop when both sides together have run this long."""
BUDGET_S = 2.0
"""Stop here even before MIN_CALLS: slow kernels need fewer calls."""
MIN_BLOCKS = 3
WARM_UP_BLOCKS = 2
MAX_SETS = 8
SETS_BYTES = 1 << 30
"""Memory for sets of inputs beyond the first."""
HOST_BLOCK_S = 0.01
"""Least duration of a block on the CPU: the talk around it costs 0.1 ms."""
MAX_HOST_CALLS = 2000


@dataclass
class _Side:
    worker: Worker
    samples_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)
    overhead_ms: list[float] = field(default_factory=list)
    """For each block, what its calls cost by the judge's clock beyond their events, per call."""

    def summary(self) -> TimingSide:
        lower, median, upper = statistics.quantiles(self.samples_ms, n=4) if len(self.samples_ms) > 1 else self.samples_ms * 3
        return TimingSide(
            median_ms=median,
            lower_quartile_ms=lower,
            upper_quartile_ms=upper,
            samples_ms=tuple(self.samples_ms),
            wall_ms=tuple(self.wall_ms),
        )


class Timing:
    """The timing of one candidate against its baseline."""

    def __init__(self, candidate: Worker, baseline: Worker, case: ProblemCase, memory: Memory, deadline_s: float) -> None:
        self._candidate, self._baseline = _Side(candidate), _Side(baseline)
        self._case, self._memory, self._deadline_s = case, memory, deadline_s
        self._on_device = memory.device.type == "cuda"
        self._sets = self._make_sets()
        self._calls = len(self._sets)

    def run(self) -> TimingEvidence:
        """Warm up, then take turns until there are calls enough. Raises WorkerError, ProtocolError."""
        for _ in range(WARM_UP_BLOCKS):
            self._block(record=False)
        if not self._on_device:
            self._calls = self._host_calls()
        start = time.monotonic()
        blocks = 0
        while not self._done(blocks, time.monotonic() - start):
            self._block(record=True)
            blocks += 1
        return self._evidence(blocks)

    def _make_sets(self) -> list[InputSet]:
        first = InputSet(self._memory, self._draw())
        nbytes = sum(allocation.nbytes for allocation in first.allocations)
        count = max(1, min(MAX_SETS, SETS_BYTES // max(nbytes, 1)))
        sets = [first, *(InputSet(self._memory, self._draw()) for _ in range(count - 1))]
        for side in (self._candidate, self._baseline):
            side.worker.hand_over([allocation for one in sets for allocation in one.allocations], self._deadline_s)
            side.worker.request("inputs", self._deadline_s, sets=[one.tree for one in sets])
        return sets

    def _draw(self) -> list[object]:
        return self._case.inputs(fresh_seed(), self._memory.device)

    def _done(self, blocks: int, elapsed_s: float) -> bool:
        if blocks < MIN_BLOCKS:
            return False
        return elapsed_s >= BUDGET_S or (blocks * self._calls >= MIN_CALLS and elapsed_s >= ENOUGH_S)

    def _block(self, record: bool) -> None:
        """Fresh values in every set, then both sides over all of them, in an order drawn anew."""
        for one in self._sets:
            one.fill(self._draw())
        if self._on_device:
            torch.cuda.synchronize(self._memory.device)
        order = [call % len(self._sets) for call in range(self._calls)]
        random.shuffle(order)
        sides = [self._candidate, self._baseline]
        random.shuffle(sides)
        for side in sides:
            wall_ms, claims_ms = self._time(side, order)
            if not record:
                continue
            side.wall_ms.append(wall_ms)
            if self._on_device:
                side.samples_ms.extend(claims_ms)
                side.overhead_ms.append(wall_ms - sum(claims_ms) / len(order))
            else:
                side.samples_ms.append(wall_ms)

    def _time(self, side: _Side, order: list[int]) -> tuple[float, list[float]]:
        """Wall time per call by the judge's clock, and the worker's claims; both in ms."""
        start = time.perf_counter()
        answer = side.worker.request("time", self._deadline_s, order=order)
        wall_ms = (time.perf_counter() - start) * 1e3 / len(order)
        return wall_ms, _claims(answer, len(order))

    def _host_calls(self) -> int:
        """How many calls a block needs so that the slower side's lasts HOST_BLOCK_S."""
        order = list(range(len(self._sets)))
        slower_ms = max(self._time(side, order)[0] for side in (self._candidate, self._baseline))
        return max(1, min(MAX_HOST_CALLS, math.ceil(HOST_BLOCK_S * 1e3 / max(slower_ms, 1e-6))))

    def _evidence(self, blocks: int) -> TimingEvidence:
        candidate, baseline = self._candidate.summary(), self._baseline.summary()
        disagreement = None
        if self._on_device:
            observed_ms = statistics.median(candidate.wall_ms) - statistics.median(self._baseline.overhead_ms)
            claimed_ms = statistics.fmean(candidate.samples_ms)
            disagreement = (observed_ms - claimed_ms) / observed_ms if observed_ms > 0 else 0.0
        return TimingEvidence(
            clock="cuda_event" if self._on_device else "judge_wall",
            calls=blocks * self._calls,
            candidate=candidate,
            baseline=baseline,
            disagreement=disagreement,
        )


def _claims(answer: Message, count: int) -> list[float]:
    times = answer.get("times_ms")
    if not isinstance(times, list) or len(times) != count:
        raise ProtocolError(f"times of {count} calls were asked for")
    if not all(isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value < 1e9 for value in times):
        raise ProtocolError("a time is not a number of milliseconds")
    return [float(value) for value in times]
