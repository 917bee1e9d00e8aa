"""Time: candidate and baseline in two workers of the same kind, call by call, over inputs that neither has seen.

Every timed call is one request. On a GPU the worker writes over the L2 cache, records an event, calls, records another, and waits for the
device; what it says of the time between the events is precise, but a claim. The judge's own clock runs over the same request: beyond
the device's time it holds the talk and the flush, which the baseline's requests tell, for its worker is trusted and does the same. So
for an honest candidate the two differ by what they differ by for the baseline. Calls back to back, without flush or events, are the second
witness: each can't take longer there than was claimed. What the claims leave out is added. On the CPU the time is the judge's, less
the talk.

After any call, unannounced, the judge has the answer revealed and compares it: who computes only some of its answers doesn't know which. Or
it watches what the worker's processes go on doing. In the end the candidate is killed, and the baseline timed alone, undisturbed.
"""

import secrets
import statistics
import time
from typing import Any

import torch

from evaluator.category import Category
from evaluator.judge.answer import ClaimedTensor, MismatchError, match, read_claim, tensors_of
from evaluator.judge.inputs import InputSet, fresh_seed
from evaluator.judge.memory import Allocation, Memory
from evaluator.judge.oracle import Oracle
from evaluator.judge.rounds import allocate_outputs, judge_values, reveal, snapshot, synchronize, views_into
from evaluator.judge.session import Worker
from evaluator.judge.side import LEAST_MS, Flush, Side
from evaluator.problem import ProblemCase
from evaluator.result import TimingEvidence, WrongTimedAnswer
from evaluator.worker.protocol import Message

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
"""Answers compared of each candidate at the least, on average, whatever the number of calls."""
CHECKS_S = 1.0
"""As many more are compared as fit into this time."""
MIN_REVEALS = 2
MAX_REVEALS = 24
"""How often an answer that seems slow to arrive is asked for again: what was put off is slow every time, a busy machine is not."""
REVEAL_SLACK_MS = 0.1
REVEAL_SLACK_SHARE = 0.25
"""What revealing an answer may take beyond what it takes the baseline before it counts."""
MAX_SETS = 8
SETS_BYTES = 1 << 30
"""Memory for sets of inputs beyond the first."""
BURSTS = 7
"""Of each side, a call over every set."""
MIN_WATCHES = 5
WATCH_S = (0.002, 0.02)
"""How long a worker is watched after an answer: as long as the baseline takes for one, within these limits."""
BACKGROUND_SLACK_MS = 0.1
"""Processor time after an answer, beyond the baseline's, that is not told from bookkeeping."""
CLAIM_SLACK_MS = 0.02
CLAIM_SLACK_SHARE = 0.05
"""How far a claim may fall short of the judge's clock before the clock's figure stands; never by more than the claim itself."""
ALONE_CALLS = 10

_random = secrets.SystemRandom()


class WrongAnswerError(Exception):
    """A timed answer was wrong where the rounds' were right; there is no time to be had."""

    def __init__(self, call: int, message: str, category: Category = Category.CACHED_OUTPUT) -> None:
        super().__init__(message)
        self.evidence = WrongTimedAnswer(call=call, message=message, category=category)


class BaselineFailedError(Exception):
    """The baseline's worker failed: no submission is to blame."""


class Timing:
    """The timing of one candidate against its baseline."""

    def __init__(self, candidate: Worker, baseline: Worker, case: ProblemCase, oracle: Oracle, memory: Memory, deadline_s: float) -> None:
        self._on_device = memory.device.type == "cuda"
        flush = Flush(memory) if self._on_device else None
        self._candidate, self._baseline = self._sides = Side(candidate, deadline_s, flush), Side(baseline, deadline_s, flush)
        self._case, self._oracle, self._memory, self._deadline_s = case, oracle, memory, deadline_s
        self._drawn: list[list[Any]] = []
        self._sets = self._make_sets()
        self._outputs: list[Allocation] = []
        self._form: Any = None
        """What an answer looks like, its tensors without memory."""
        self._check_s = 0.0
        """What it takes to compare an answer, the reference's own included."""
        if flush is not None:
            for side in self._sides:
                side.worker.hand_over([flush.allocation], deadline_s)

    def run(self) -> TimingEvidence:
        """Warm up, then time both until there are calls enough. Raises WrongAnswerError, WorkerError, ProtocolError."""
        for _ in range(WARM_UP_CALLS):
            for side in self._sides:
                side.call(0)
        self._prepare_outputs()
        talk_ms = statistics.median(self._baseline.ping() for _ in range(MIN_CALLS))
        calls, spent_ms = 0, 0.0
        while not self._done(calls, spent_ms / 1e3):
            self._refresh()
            for position in _random.sample(range(len(self._sets)), len(self._sets)):
                spent_ms += self._pair(position, talk_ms)
                calls += 1
        self._settle_watches()
        self._settle_reveals(calls)
        if self._on_device:
            self._run_bursts(talk_ms, calls)
        return self._evidence(calls, self._baseline_alone(talk_ms))

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
            wall_ms, answer = side.sample(position, talk_ms)
            spent_ms += wall_ms
            if _random.random() < REVEAL_SHARE:
                self._reveal(side, position, answer, len(side.samples_ms))
            else:
                self._match(side, read_claim(answer)[0], len(side.samples_ms))
                self._watch(side)
            side.check_flush()
        return spent_ms

    def _watch(self, side: Side) -> None:
        """Leave the worker to itself for a while. One on a GPU waits awake for requests; there the bursts tell what is left for later."""
        if not self._on_device:
            shortest_s, longest_s = WATCH_S
            side.watch(min(max(self._baseline.samples_ms[-1] / 1e3, shortest_s), longest_s) if self._baseline.samples_ms else shortest_s)

    def _settle_watches(self) -> None:
        """Watch until each side has been watched often enough; the calls in between are no samples."""
        while not self._on_device and min(len(side.background_ms) for side in self._sides) < MIN_WATCHES:
            self._refresh()
            for side in _random.sample(self._sides, 2):
                side.call(0)
                self._watch(side)

    def _prepare_outputs(self) -> None:
        """Memory for revealed answers, shared by both workers, and one unrecorded reveal of each to warm the path."""
        expected = self._oracle.expected(self._drawn[0])
        self._outputs = allocate_outputs(self._memory, expected)
        self._form = _form_of(expected)
        for side in self._sides:
            side.worker.hand_over(self._outputs, self._deadline_s)
            self._reveal(side, 0, side.call(0)[2], 0, check=True)
            side.reveal_ms.clear()

    def _reveal(self, side: Side, position: int, answer: Message, call: int, check: bool = False) -> None:
        """Have the last answer copied into the judge's memory, by the clock, and compare some of the candidate's.

        The reference runs afterwards: meanwhile the worker would have time for what it has put off.
        """
        claimed, count = read_claim(answer)
        claims = self._match(side, claimed, call)
        side.numbers, side.described = [claim.number for claim in claims], count
        with side.revealing():
            values = reveal(side.worker, self._outputs, claims, count, self._form, self._deadline_s)
        if side is self._candidate and (check or _random.random() < self._check_share(call)):
            self._check(values, position, call, claimed)

    def _match(self, side: Side, claimed: Any, call: int) -> list[ClaimedTensor]:
        """The answer's tensors, in the order of the reference's; the values of plain numbers in it are not looked at."""
        try:
            return list(match(claimed, self._form, self._memory.device.type, plain_values=False))
        except MismatchError as error:
            if side is self._baseline:
                raise BaselineFailedError(f"the baseline answered in another form than the reference: {error}") from error
            raise WrongAnswerError(call, str(error)) from error

    def _check_share(self, calls: int) -> float:
        """Of the answers that are revealed: how many are compared, so that about CHECKS are, or what CHECKS_S is enough for."""
        reveals = REVEAL_SHARE * max(MIN_CALLS, calls)
        return max(CHECKS, CHECKS_S / max(self._check_s, 1e-6)) / reveals

    def _check(self, values: list[torch.Tensor], position: int, call: int, claimed: Any = None) -> None:
        """Compare an answer's tensors, and where it is `claimed` whole its plain numbers too. Raises WrongAnswerError."""
        start = time.monotonic()
        arguments = self._drawn[position]
        expected = self._oracle.expected(arguments)
        try:
            if claimed is not None:
                list(match(claimed, expected, self._memory.device.type))
        except MismatchError as error:
            raise WrongAnswerError(call, str(error)) from error
        judged = judge_values(self._case, self._oracle, arguments, values, expected, None)
        self._check_s = time.monotonic() - start
        if judged.category is not None:
            raise WrongAnswerError(call, judged.message)
        if not self._sets[position].unchanged(arguments):
            raise WrongAnswerError(call, "forward() changed its input", Category.MUTATED_INPUT)

    def _settle_reveals(self, calls: int) -> None:
        """Reveal until every side has been often enough, and until slow answers have had every chance to arrive faster."""
        while min(len(side.reveal_ms) for side in self._sides) < (MAX_REVEALS if self._deferred_ms() else MIN_REVEALS):
            self._refresh()
            for side in _random.sample(self._sides, 2):
                self._reveal(side, 0, side.call(0)[2], calls, check=len(side.reveal_ms) < MIN_REVEALS)

    def _run_bursts(self, talk_ms: float, calls: int) -> None:
        """Calls back to back, each over a set of its own, in which nothing can be left for later; one of the answers is compared."""
        nbytes = max(sum(allocation.nbytes for allocation in self._outputs), 1)
        length = max(1, min(len(self._sets), SETS_BYTES // nbytes))
        slots = [self._outputs, *(self._more_outputs() for _ in range(length - 1))]
        for _ in range(BURSTS):
            self._refresh()
            for side in _random.sample(self._sides, 2):
                order = _random.sample(range(len(self._sets)), length)
                wall_ms = side.burst(order, [self._views(side, outputs) for outputs in slots])
                side.burst_ms.append(max(wall_ms - talk_ms, LEAST_MS) / length)
                if side is self._candidate:
                    chosen = _random.randrange(length)
                    self._check(snapshot(slots[chosen], [tensor for _, tensor in tensors_of(self._form)]), order[chosen], calls)

    def _more_outputs(self) -> list[Allocation]:
        more = [self._memory.allocate(allocation.requested) for allocation in self._outputs]
        for side in self._sides:
            side.worker.hand_over(more, self._deadline_s)
        return more

    def _views(self, side: Side, outputs: list[Allocation]) -> list[dict[str, Any] | None]:
        """Where each tensor of an answer goes, in the order in which this side's worker describes them."""
        return views_into(outputs, side.numbers, side.described, [tensor for _, tensor in tensors_of(self._form)])

    def _baseline_alone(self, talk_ms: float) -> tuple[float, ...]:
        """Samples of the baseline with the candidate gone."""
        self._candidate.worker.end()
        alone = Side(self._baseline.worker, self._deadline_s, self._baseline.flush)
        for _ in range(ALONE_CALLS):
            self._refresh()
            alone.sample(_random.randrange(len(self._sets)), talk_ms)
        return tuple(alone.samples_ms)

    def _deferred_ms(self) -> float:
        """How much later the candidate's answers arrive than the baseline's; 0 within the slack, or where there is no telling yet."""
        if not all(side.reveal_ms for side in self._sides):
            return 0.0
        candidate_ms, baseline_ms = (statistics.median(side.reveal_ms) for side in self._sides)
        late_ms = candidate_ms - baseline_ms
        return late_ms if late_ms > max(REVEAL_SLACK_MS, REVEAL_SLACK_SHARE * baseline_ms) else 0.0

    def _evidence(self, calls: int, baseline_alone_ms: tuple[float, ...]) -> TimingEvidence:
        return TimingEvidence(
            clock="cuda_event" if self._on_device else "judge_wall",
            calls=calls,
            candidate=self._candidate.summary(),
            baseline=self._baseline.summary(),
            baseline_alone_ms=baseline_alone_ms,
            deferred_ms=self._deferred_ms(),
            background_ms=self._background_ms(),
            unexplained_ms=_beyond_claims_ms(self._candidate) - _beyond_claims_ms(self._baseline) if self._on_device else None,
            unclaimed_ms=self._unclaimed_ms() if self._on_device else 0.0,
            unflushed=self._candidate.unflushed,
        )

    def _background_ms(self) -> float:
        """Processor time that the candidate takes after an answer, beyond the baseline's; 0 within the slack."""
        if not all(side.background_ms for side in self._sides):
            return 0.0
        candidate_ms, baseline_ms = (statistics.median(side.background_ms) for side in self._sides)
        return candidate_ms - baseline_ms if candidate_ms - baseline_ms > BACKGROUND_SLACK_MS else 0.0

    def _unclaimed_ms(self) -> float:
        """What the claims leave out of a call, by the judge's clock over single calls or over bursts; 0 within the slack."""
        claim_ms = statistics.median(self._candidate.samples_ms)
        slack_ms = max(min(CLAIM_SLACK_MS, claim_ms), CLAIM_SLACK_SHARE * claim_ms)
        single_ms = _beyond_claims_ms(self._candidate) - _beyond_claims_ms(self._baseline)
        in_bursts_ms = _burst_beyond_claims_ms(self._candidate) - _burst_beyond_claims_ms(self._baseline)
        most_ms = max(single_ms, in_bursts_ms)
        return most_ms if most_ms > slack_ms else 0.0


def _form_of(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_like(value, device="meta", memory_format=torch.contiguous_format)
    if isinstance(value, dict):
        return {key: _form_of(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_form_of(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def _beyond_claims_ms(side: Side) -> float:
    """What a request of this side costs beyond the time that its worker claims for the call, in ms.

    The lower quartile: others on the machine delay some requests, and hasten none.
    """
    beyond_ms = [wall - claim for wall, claim in zip(side.wall_ms, side.samples_ms, strict=True)]
    return statistics.quantiles(beyond_ms, n=4)[0]


def _burst_beyond_claims_ms(side: Side) -> float:
    """How much longer a call takes back to back with others than its worker claims for one alone, where the host is the slower."""
    return max(statistics.median(side.burst_ms) - statistics.median(side.samples_ms), 0.0)
