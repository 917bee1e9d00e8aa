"""Time: candidate and baseline in two workers of the same kind, call by call, over inputs that the candidate has not seen.

Every timed call is one request. On a GPU the worker writes over the L2 cache, records an event, calls, records another, and waits for the
device; what it says of the time between the events is precise, but a claim. The judge's own clock is the witness: over calls that wait at
its gate until all is enqueued, one at a time and several back to back. On the CPU the time is the judge's, less the talk.

After any call of the candidate's, unannounced, the judge has the answer revealed and compares it: who computes only some of its answers
doesn't know which. Or it watches what the candidate's processes go on doing. In the end the candidate is killed, and the baseline goes
through the same, alone and undisturbed: evaluator.judge.claims holds the candidate's figures against these.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evaluator.category import Category
from evaluator.judge.answer import ClaimedTensor, MismatchError, has_plain_values, match, read_claim, tensors_of
from evaluator.judge.bursts import Bursts, Taken, room_bytes
from evaluator.judge.claims import compare
from evaluator.judge.gate import Gate
from evaluator.judge.inputs import InputSet, fresh_seed
from evaluator.judge.memory import Memory
from evaluator.judge.oracle import Oracle
from evaluator.judge.rounds import allocate_outputs, ask_to_reveal, judge_values, snapshot
from evaluator.judge.rows import Sampler
from evaluator.judge.session import Worker
from evaluator.judge.side import SPIN_S, Flush, Side
from evaluator.problem import ProblemCase
from evaluator.result import TimingEvidence, WrongTimedAnswer
from evaluator.worker.protocol import ProtocolError

MIN_CALLS = 30
ENOUGH_S = 0.5
"""With MIN_CALLS done, stop after this much time."""
BUDGET_S = 2.0
"""Stop even before MIN_CALLS when calls alone have taken so long: slow kernels need fewer."""
LEAST_CALLS = 5
WARM_UP_CALLS = 4
REVEAL_SHARE = 0.5
"""Of the candidate's calls: how often the answer is copied out, by the clock, so that work put off is paid for."""
CHECKS = 6
"""Answers compared of each candidate at the least, on average, whatever the number of calls."""
CHECKS_S = 0.2
CPU_CHECKS_S = 0.5
"""As many more are compared as fit into this time; more on the CPU, where no others are. Of large answers it is rows drawn anew: the rounds
have compared all rows."""
MIN_REVEALS = 2
MIN_WATCHES = 5
SETTLED_REVEALS = 16
SETTLING_S = 0.5
"""As many answers are revealed as this, unless it takes longer: one that arrives late by chance must not pass for one that was put off."""
MAX_SETS = 16
WATCH_S = (0.002, 0.02)
"""How long a worker is watched after an answer: as long as the baseline takes for one, within these limits."""
ALONE_CALLS = 16
ALONE_S = 0.2
"""With LEAST_CALLS done, the baseline alone is called no longer than this."""

_random = secrets.SystemRandom()


class WrongAnswerError(Exception):
    """A timed answer was wrong where the rounds' were right; there is no time to be had."""

    def __init__(self, call: int, message: str, category: Category = Category.CACHED_OUTPUT, *, back_to_back: bool = False) -> None:
        super().__init__(message)
        self.evidence = WrongTimedAnswer(call=call, message=message, category=category, back_to_back=back_to_back)


class BaselineFailedError(Exception):
    """The baseline's worker failed: no submission is to blame."""


@dataclass(frozen=True)
class Answer:
    """What a worker says that it returned, and for what."""

    inputs: InputSet
    arguments: list[Any]
    claimed: Any
    described: int
    """How many tensors the worker describes."""
    call: int
    """Which of the timed calls; 0 for one before them."""


class Timing:
    """The timing of one candidate against its baseline."""

    def __init__(
        self,
        candidate: Worker,
        baseline: Worker,
        case: ProblemCase,
        oracle: Oracle,
        form: Any,
        memory: Memory,
        deadline_s: float,
        look: Callable[[], object] = lambda: None,
    ) -> None:
        """`form` is what an answer looks like (evaluator.judge.answer.form_of); `look` is called time and again, while nothing is timed."""
        self._look = look
        self._on_device = memory.device.type == "cuda"
        self._case, self._oracle, self._memory, self._deadline_s = case, oracle, memory, deadline_s
        self._arguments = self._draw()
        """What the candidate was given last. The baseline is given the same after it, and so shows it nothing in the memory of both."""
        self._form, self._shapes = form, [tensor for _, tensor in tensors_of(form)]
        self._sampler = Sampler(self._arguments, self._shapes, case.rows_independent)
        self._sets = self._make_sets()
        self._flush = Flush(memory, room_bytes(memory.device), len(self._sets)) if self._on_device else None
        self._candidate, self._baseline = self._sides = self._make_side(candidate), self._make_side(baseline)
        self._outputs = allocate_outputs(memory, self._form)
        """Memory for revealed answers. The baseline gets it once the candidate, who could find answers there, is gone."""
        candidate.hand_over(self._outputs, deadline_s)
        self._calls = 0
        self._in_bursts = False
        self._check_s = 0.0
        """What it takes to compare an answer, the reference's own included."""

    def run(self) -> TimingEvidence:
        """Warm up, then time both until there are calls enough, then the baseline alone.

        Raises WrongAnswerError, BaselineFailedError, WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
        """
        for _ in range(WARM_UP_CALLS):
            for side in self._sides:
                self._call(side)
        self._warm_reveal(self._candidate)
        self._run_pairs()
        self._settle()
        bursts = self._make_bursts()
        if bursts:
            self._in_bursts = True
            self._arguments = []  # bursts draw their own, and there may be no memory for more
            bursts.run(self._candidate, self._compare, WrongAnswerError)
            bursts.time_kernels(self._candidate)
        self._candidate.worker.end()
        alone = self._run_alone(bursts)
        # The least: on a busy machine more than that is sometimes the talk's and sometimes not, and would leave nothing of short calls.
        talk_ms = min(alone.ping() for _ in range(MIN_CALLS))
        sides = (side.summary(talk_ms) for side in (self._candidate, self._baseline, alone))
        timing = compare(*sides, on_device=self._on_device, gated=self._candidate.is_gated, in_a_row=len(bursts.places) if bursts else 0)
        return timing.model_copy(update={"unflushed": self._candidate.unflushed, "unflushed_bursts": self._candidate.unflushed_bursts})

    def _make_sets(self) -> list[InputSet]:
        """Memory in which both workers see the inputs of calls, at places that change."""
        first = InputSet(self._memory, self._arguments)
        nbytes = sum(allocation.nbytes for allocation in first.allocations)
        more = max(0, min(MAX_SETS, room_bytes(self._memory.device) // max(nbytes, 1)) - 1)
        return [first, *(InputSet(self._memory, self._arguments) for _ in range(more))]

    def _make_side(self, worker: Worker) -> Side:
        """One side, whose worker sees what both are given, and has a gate that the other one can't close."""
        side = Side(worker, self._deadline_s, self._flush, _working_gate(self._memory) if self._on_device else None)
        shared = [allocation for one in self._sets for allocation in one.allocations]
        worker.hand_over([*shared, *(self._flush.allocations if self._flush else [])], self._deadline_s)
        if side.gate:
            worker.request("gate", self._deadline_s, [side.gate.descriptor])
        return side

    def _make_bursts(self) -> Bursts | None:
        """The judge's own witness on a GPU; on the CPU all of the time is the judge's."""
        if self._flush is None:
            return None
        bursts = Bursts(self._memory, self._sets, self._outputs, self._shapes, self._draw, self._sampler.draw, self._flush.areas)
        self._candidate.worker.hand_over(bursts.allocations[len(self._outputs) :], self._deadline_s)
        return bursts

    def _draw(self) -> list[Any]:
        return self._case.inputs(fresh_seed(), self._memory.device)

    def _call(self, side: Side, counts: bool = False) -> Answer:
        """One call; of the baseline beside the candidate over what that was given last, and otherwise over new inputs."""
        if side is not self._baseline:
            self._arguments = []
            self._arguments = self._draw()
        inputs = _random.choice(self._sets)
        with self._blaming(side):
            message = side.sample(inputs, self._arguments) if counts else side.call(inputs, self._arguments)[2]
            return Answer(inputs, self._arguments, *read_claim(message), self._calls)

    @contextmanager
    def _blaming(self, side: Side) -> Iterator[None]:
        """Whatever the baseline's worker sends is not the candidate's fault."""
        try:
            yield
        except ProtocolError as error:
            if side is self._candidate:
                raise
            raise BaselineFailedError(f"the baseline's worker sent what it should not: {error}") from error

    def _run_pairs(self) -> None:
        """A call of each side, in an order drawn anew, until there are enough."""
        start = time.monotonic()
        while not self._done(time.monotonic() - start):
            self._calls += 1
            for side in _random.sample(self._sides, 2):
                answer = self._call(side, counts=True)
                if side is self._baseline:
                    self._match(side, answer)
                elif _random.random() < REVEAL_SHARE:
                    self._reveal(side, answer)
                else:
                    self._match(side, answer)
                    self._watch(side)
                side.check_flush()
                del answer  # its inputs' memory is needed for the next ones
            self._look()

    def _done(self, elapsed_s: float) -> bool:
        if self._calls < LEAST_CALLS:
            return False
        if self._calls >= MIN_CALLS and elapsed_s >= ENOUGH_S:
            return True
        return sum(sum(side.wall_ms) for side in self._sides) >= BUDGET_S * 1e3

    def _watch(self, side: Side) -> None:
        """Leave the worker to itself for a while. One on a GPU waits awake for requests; there the bursts tell what is left for later."""
        if not self._on_device:
            shortest_s, longest_s = WATCH_S
            side.watch(min(max(self._baseline.wall_ms[-1] / 1e3, shortest_s), longest_s) if self._baseline.wall_ms else shortest_s)

    def _settle(self) -> None:
        """Watch, and reveal, until that has been done often enough; these calls are no samples."""
        side, deadline = self._candidate, time.monotonic() + SETTLING_S
        while True:
            reveals = SETTLED_REVEALS if time.monotonic() < deadline else MIN_REVEALS
            if len(side.reveal_ms) < reveals:
                self._reveal(side, self._call(side), check=len(side.reveal_ms) < MIN_REVEALS)
            elif len(side.background_ms) < MIN_WATCHES and not self._on_device:
                self._match(side, self._call(side))
                self._watch(side)
            else:
                return

    def _warm_reveal(self, side: Side) -> None:
        """One reveal that does not count, to warm the path."""
        self._reveal(side, self._call(side), check=side is self._candidate)
        side.reveal_ms.clear()

    def _reveal(self, side: Side, answer: Answer, check: bool = False) -> None:
        """Have the last answer copied into the judge's memory, by the clock, and compare some of the candidate's.

        The reference runs afterwards: meanwhile the worker would have time for what it has put off.
        """
        claims = self._match(side, answer)
        side.claims, side.described = claims, answer.described
        sample = self._sampler.draw()
        with side.revealing():
            spin_s = SPIN_S if self._on_device else 0.0
            ask_to_reveal(side.worker, self._outputs, claims, answer.described, self._shapes, self._deadline_s, spin_s)
            values = snapshot(self._outputs, claims, self._shapes, sample)
        if side is self._candidate and (check or _random.random() < self._check_share()):
            self._check(Taken(values, sample), answer)

    def _match(self, side: Side, answer: Answer) -> list[ClaimedTensor]:
        """The answer's tensors, in the order of the reference's; the values of plain numbers in it are not looked at."""
        try:
            return list(match(answer.claimed, self._form, self._memory.device.type, plain_values=False))
        except MismatchError as error:
            if side is self._candidate:
                raise WrongAnswerError(answer.call, str(error)) from error
            raise BaselineFailedError(f"the baseline answered in another form than the reference: {error}") from error

    def _check_share(self) -> float:
        """Of the answers that are revealed: how many are compared, so that about CHECKS are, or what the time for them is enough for."""
        reveals = REVEAL_SHARE * max(MIN_CALLS, self._calls)
        checks_s = CHECKS_S if self._on_device else CPU_CHECKS_S
        return max(CHECKS, checks_s / max(self._check_s, 1e-6)) / reveals

    def _check(self, taken: Taken, answer: Answer) -> None:
        """Compare an answer's tensors, and its plain numbers too. Raises WrongAnswerError."""
        start = time.monotonic()
        if has_plain_values(self._form):
            try:
                list(match(answer.claimed, self._oracle.expected(answer.arguments), self._memory.device.type))
            except MismatchError as error:
                raise WrongAnswerError(answer.call, str(error)) from error
        self._compare(taken, answer.inputs, answer.arguments)
        self._check_s = time.monotonic() - start

    def _compare(self, taken: Taken, inputs: InputSet, arguments: list[Any]) -> None:
        """Compare an answer's tensors. Raises WrongAnswerError."""
        judged = judge_values(self._case, self._oracle, arguments, taken.values, self._form, sample=taken.sample)
        if judged.category is not None:
            raise WrongAnswerError(self._calls, judged.message, back_to_back=self._in_bursts)
        if not inputs.unchanged(arguments):
            raise WrongAnswerError(self._calls, "forward() changed its input", Category.MUTATED_INPUT)

    def _run_alone(self, bursts: Bursts | None) -> Side:
        """The baseline with the candidate gone: what everything costs where nobody wants it to look long or short."""
        alone = Side(self._baseline.worker, self._deadline_s, self._flush, self._baseline.gate)
        alone.worker.hand_over(bursts.allocations if bursts else self._outputs, self._deadline_s)
        self._warm_reveal(alone)
        start = time.monotonic()
        for number in range(ALONE_CALLS):
            if number >= LEAST_CALLS and time.monotonic() - start > ALONE_S:
                break
            answer = self._call(alone, counts=True)
            if number % 2:
                self._reveal(alone, answer)
            else:
                self._watch(alone)
            del answer
            self._look()
        if bursts:
            self._call(alone)
            self._arguments = []
            bursts.run_idle(alone, self._candidate)
        return alone


def _working_gate(memory: Memory) -> Gate | None:
    gate = Gate(memory)
    return gate if gate.works() else None
