"""Time: candidate and baseline in two workers of the same kind, call by call, over inputs that neither has seen.

Every timed call is one request. On a GPU the worker writes over the L2 cache, records an event, calls, records another, and waits for the
device; what it says of the time between the events is precise, but a claim. The judge's own clock runs over the same request: beyond
the device's time it holds the talk and the flush, which the baseline's requests tell, for its worker is trusted and does the same. So
for an honest candidate the two differ by what they differ by for the baseline. On the CPU the time is the judge's, less the talk.

After any call, unannounced, the judge has the answer revealed and compares it: who computes only some of its answers doesn't know which.
"""

import secrets
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator.judge.answer import MismatchError, match, read_claim
from evaluator.judge.inputs import InputSet, fresh_seed
from evaluator.judge.memory import Allocation, Memory
from evaluator.judge.oracle import Oracle
from evaluator.judge.rounds import allocate_outputs, judge_values, reveal, synchronize
from evaluator.judge.session import Worker
from evaluator.problem import ProblemCase
from evaluator.result import TimingEvidence, TimingSide, WrongTimedAnswer
from evaluator.worker.protocol import Message, ProtocolError

MIN_CALLS = 30
ENOUGH_S = 0.5
"""With MIN_CALLS done, stop when this much time has been spent on calls."""
BUDGET_S = 2.0
"""Stop here even before MIN_CALLS: slow kernels need fewer calls."""
LEAST_CALLS = 5
WARM_UP_CALLS = 4
REVEAL_SHARE = 0.5
"""Of all calls: how often the answer is copied out, by the clock, so that work put off is paid for."""
CHECKS = 6
"""Answers compared of each candidate, on average, whatever the number of calls."""
MIN_REVEALS = 2
MAX_REVEALS = 24
"""How often an answer that seems slow to arrive is asked for again: what was put off is slow every time, a busy machine is not."""
REVEAL_SLACK_MS = 0.1
REVEAL_SLACK_SHARE = 0.25
"""What revealing an answer may take beyond what it takes the baseline before it counts."""
MAX_SETS = 8
SETS_BYTES = 1 << 30
"""Memory for sets of inputs beyond the first."""
SPIN_S = 0.1
"""How long an answer is waited for awake on a GPU machine; on the CPU that would take a processor from the submission."""
LEAST_MS = 1e-3
"""Below the resolution of the judge's clock nothing is told apart."""

_random = secrets.SystemRandom()


class WrongAnswerError(Exception):
    """A timed answer was wrong where the rounds' were right; there is no time to be had."""

    def __init__(self, call: int, message: str) -> None:
        super().__init__(message)
        self.evidence = WrongTimedAnswer(call=call, message=message)


@dataclass
class _Side:
    worker: Worker
    samples_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)
    reveal_ms: list[float] = field(default_factory=list)

    def summary(self) -> TimingSide:
        lower, median, upper = statistics.quantiles(self.samples_ms, n=4) if len(self.samples_ms) > 1 else self.samples_ms * 3
        return TimingSide(
            median_ms=median,
            lower_quartile_ms=lower,
            upper_quartile_ms=upper,
            samples_ms=tuple(self.samples_ms),
            wall_ms=tuple(self.wall_ms),
            reveal_ms=tuple(self.reveal_ms),
        )


class Timing:
    """The timing of one candidate against its baseline."""

    def __init__(self, candidate: Worker, baseline: Worker, case: ProblemCase, oracle: Oracle, memory: Memory, deadline_s: float) -> None:
        self._candidate, self._baseline = self._sides = _Side(candidate), _Side(baseline)
        self._case, self._oracle, self._memory, self._deadline_s = case, oracle, memory, deadline_s
        self._on_device = memory.device.type == "cuda"
        self._drawn: list[list[Any]] = []
        self._sets = self._make_sets()
        self._outputs: list[Allocation] = []
        self._form: Any = None
        """What an answer looks like, its tensors without memory."""

    def run(self) -> TimingEvidence:
        """Warm up, then time both until there are calls enough. Raises WrongAnswerError, WorkerError, ProtocolError."""
        for _ in range(WARM_UP_CALLS):
            for side in self._sides:
                self._call(side, 0)
        self._prepare_outputs()
        talk_ms = 0.0 if self._on_device else self._talk_ms()
        calls, spent_ms = 0, 0.0
        while not self._done(calls, spent_ms / 1e3):
            self._refresh()
            for position in _random.sample(range(len(self._sets)), len(self._sets)):
                spent_ms += self._pair(position, talk_ms)
                calls += 1
        self._settle_reveals(calls)
        return self._evidence(calls)

    def _make_sets(self) -> list[InputSet]:
        self._drawn = [self._draw()]
        first = InputSet(self._memory, self._drawn[0])
        nbytes = sum(allocation.nbytes for allocation in first.allocations)
        count = max(1, min(MAX_SETS, SETS_BYTES // max(nbytes, 1)))
        self._drawn += [self._draw() for _ in range(count - 1)]
        sets = [first, *(InputSet(self._memory, drawn) for drawn in self._drawn[1:])]
        for side in self._sides:
            side.worker.hand_over([allocation for one in sets for allocation in one.allocations], self._deadline_s)
            side.worker.request("inputs", self._deadline_s, sets=[one.tree for one in sets])
        return sets

    def _draw(self) -> list[Any]:
        return self._case.inputs(fresh_seed(), self._memory.device)

    def _refresh(self) -> None:
        """New values in every set; the judge's own copies stay with it, for a worker could write over the others."""
        for position, one in enumerate(self._sets):
            self._drawn[position] = self._draw()
            one.fill(self._drawn[position])
        synchronize(self._memory.device)

    def _done(self, calls: int, spent_s: float) -> bool:
        if calls < LEAST_CALLS:
            return False
        return spent_s >= BUDGET_S or (calls >= MIN_CALLS and spent_s >= ENOUGH_S)

    def _pair(self, position: int, talk_ms: float) -> float:
        """One call of each side over one set, in an order drawn anew; the time that both took, in ms."""
        spent_ms = 0.0
        for side in _random.sample(self._sides, 2):
            wall_ms, claim_ms, answer = self._call(side, position)
            side.wall_ms.append(wall_ms)
            side.samples_ms.append(claim_ms if self._on_device else max(wall_ms - talk_ms, LEAST_MS))
            spent_ms += wall_ms
            if _random.random() < REVEAL_SHARE:
                self._reveal(side, position, answer, len(side.samples_ms))
        return spent_ms

    def _call(self, side: _Side, position: int) -> tuple[float, float, Message]:
        """Wall time by the judge's clock and the worker's claim, both in ms, and what it returned."""
        start = time.perf_counter()
        answer = side.worker.request("time", self._deadline_s, spin_s=SPIN_S if self._on_device else 0.0, set=position)
        wall_ms = (time.perf_counter() - start) * 1e3
        return wall_ms, _claimed_ms(answer) if self._on_device else 0.0, answer

    def _talk_ms(self) -> float:
        """What a request costs beyond the call: the baseline's worker is asked to do nothing."""
        times_ms = []
        for _ in range(MIN_CALLS):
            start = time.perf_counter()
            self._baseline.worker.request("ping", self._deadline_s)
            times_ms.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times_ms)

    def _prepare_outputs(self) -> None:
        """Memory for revealed answers, shared by both workers, and one unrecorded reveal of each to warm the path."""
        expected = self._oracle.expected(self._drawn[0])
        self._outputs = allocate_outputs(self._memory, expected)
        self._form = _form_of(expected)
        for side in self._sides:
            side.worker.hand_over(self._outputs, self._deadline_s)
            self._reveal(side, 0, self._call(side, 0)[2], 0, check=True)
            side.reveal_ms.clear()

    def _reveal(self, side: _Side, position: int, answer: Message, call: int, check: bool = False) -> None:
        """Have the last answer copied into the judge's memory, by the clock, and compare some of the candidate's.

        The reference runs afterwards: meanwhile the worker would have time for what it has put off.
        """
        claimed, count = read_claim(answer)
        try:
            claims = list(match(claimed, self._form, self._memory.device.type))
        except MismatchError as error:
            raise WrongAnswerError(call, str(error)) from error
        start = time.perf_counter()
        values = reveal(side.worker, self._outputs, claims, count, self._form, self._deadline_s)
        side.reveal_ms.append((time.perf_counter() - start) * 1e3)
        if side is self._candidate and (check or _random.random() < CHECKS / (REVEAL_SHARE * max(MIN_CALLS, call))):
            arguments = self._drawn[position]
            judged = judge_values(self._case, self._oracle, arguments, values, self._oracle.expected(arguments), None)
            if judged.category is not None:
                raise WrongAnswerError(call, judged.message)

    def _settle_reveals(self, calls: int) -> None:
        """Reveal until every side has been often enough, and until slow answers have had every chance to arrive faster."""
        while min(len(side.reveal_ms) for side in self._sides) < (MAX_REVEALS if self._deferred_ms() else MIN_REVEALS):
            self._refresh()
            for side in _random.sample(self._sides, 2):
                self._reveal(side, 0, self._call(side, 0)[2], calls, check=len(side.reveal_ms) < MIN_REVEALS)

    def _deferred_ms(self) -> float:
        """How much later the candidate's answers arrive than the baseline's; 0 within the slack, or where there is no telling yet."""
        if not all(side.reveal_ms for side in self._sides):
            return 0.0
        candidate_ms, baseline_ms = (statistics.median(side.reveal_ms) for side in self._sides)
        late_ms = candidate_ms - baseline_ms
        return late_ms if late_ms > max(REVEAL_SLACK_MS, REVEAL_SLACK_SHARE * baseline_ms) else 0.0

    def _evidence(self, calls: int) -> TimingEvidence:
        candidate, baseline = self._candidate.summary(), self._baseline.summary()
        unexplained_ms = None
        if self._on_device:
            unexplained_ms = _beyond_claims_ms(self._candidate) - _beyond_claims_ms(self._baseline)
        return TimingEvidence(
            clock="cuda_event" if self._on_device else "judge_wall",
            calls=calls,
            candidate=candidate,
            baseline=baseline,
            deferred_ms=self._deferred_ms(),
            unexplained_ms=unexplained_ms,
        )


def _form_of(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_like(value, device="meta", memory_format=torch.contiguous_format)
    if isinstance(value, dict):
        return {key: _form_of(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_form_of(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def _beyond_claims_ms(side: _Side) -> float:
    """What a request of this side costs beyond the time that its worker claims for the call, in ms.

    The lower quartile: others on the machine delay some requests, and hasten none.
    """
    beyond_ms = [wall - claim for wall, claim in zip(side.wall_ms, side.samples_ms, strict=True)]
    return statistics.quantiles(beyond_ms, n=4)[0]


def _claimed_ms(answer: Message) -> float:
    value = answer.get("ms")
    if not isinstance(value, float | int) or isinstance(value, bool) or not 0 < value < 1e9:
        raise ProtocolError("a time is a positive number of milliseconds")
    return float(value)
