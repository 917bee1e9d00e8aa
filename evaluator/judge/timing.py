"""Time: candidate and baselines in workers of the same kind, in turns, over inputs that the candidate has not seen.

Calls are timed in blocks, one request each: how many calls and what a time is of, the protocol says (evaluator.judge.protocols). After a
warm-up that lasts until times no longer change, blocks follow each other, in an order drawn anew, until the speedup is known to 1 % or the
time is spent (evaluator.judge.precision).

On a GPU what the worker says of the time between two events is precise, but a claim. The judge's own clock is the witness: over calls that
wait at its gate until all is enqueued, one at a time and several back to back. On the CPU the time is the judge's, less the talk.

After any block of the candidate's, unannounced, the judge has answers revealed and compares them: who computes only some of its answers
doesn't know which. Or it watches what the candidate's processes go on doing. In the end the candidate is killed, and the baseline goes
through the same, alone and undisturbed: evaluator.judge.claims holds the candidate's figures against these.
"""

import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from evaluator.judge.precision import BUDGET, PRECISE, interval, is_narrow
from evaluator.judge.protocols import Protocol, choose
from evaluator.judge.rounds import allocate_outputs, ask_to_reveal, judge_values, snapshot
from evaluator.judge.rows import Sampler
from evaluator.judge.session import Worker
from evaluator.judge.side import SPIN_S, Flush, Side, UnrecordableError
from evaluator.problem import ProblemCase
from evaluator.result import TimingEvidence, WrongTimedAnswer
from evaluator.worker.protocol import ProtocolError

MIN_CALLS = 30
MIN_BLOCKS = 15
"""Fewer calls, or blocks of several, are never enough to be sure of the interval."""
ENOUGH_S = 1.0
CPU_ENOUGH_S = 0.5
"""With these done, stop after this much time, however wide the interval is."""
BUDGET_S = 2.0
"""Stop even before when calls alone have taken so long: slow kernels need fewer."""
LEAST_CALLS = 5
ASK_AGAIN = 1.2
"""How many times as many blocks there are when the interval is found the next time: finding it takes some milliseconds."""
WARM_UP_CALLS = 4
STEADY_SHARE = 0.02
"""Warm-up ends when the medians of the last WARM_UP_CALLS calls and of those before them differ by no more than this, on every side."""
WARM_UP_S = 0.3
MOST_WARM_UP_CALLS = 100
"""It ends then in any case, with WARM_UP_CALLS done."""
REVEAL_SHARE = 0.5
"""Of the candidate's blocks: how often answers are copied out, by the clock, so that work put off is paid for."""
PICKED = 4
"""Answers of a block that are revealed then, drawn when it is over."""
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
ALONE_BLOCKS = 16
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


class UnfitProtocolError(Exception):
    """There is no time to be had by the protocol that was asked for, of this candidate or this baseline. No verdict follows from that."""


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
    place: int | None = None
    """Which of the answers of its block; None for a call that was asked for alone."""


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
        protocol: Protocol | None = None,
        others: Mapping[str, Worker] | None = None,
    ) -> None:
        """`form` is what an answer looks like (evaluator.judge.answer.form_of); `look` is called time and again, while nothing is timed;
        `protocol` is the device's default where none is given; `others` are further baselines by their kind."""
        self._since = time.monotonic()
        self._look = look
        self._on_device = memory.device.type == "cuda"
        self._protocol = protocol or choose(None, memory.device.type)
        self._case, self._oracle, self._memory, self._deadline_s = case, oracle, memory, deadline_s
        self._arguments = [self._draw()]
        """What the candidate was given last. The baselines are given the same after it, and so show it nothing in the memory of all."""
        self._form, self._shapes = form, [tensor for _, tensor in tensors_of(form)]
        self._sampler = Sampler(self._arguments[0], self._shapes, case.rows_independent)
        self._sets = self._make_sets()
        is_flushed = self._on_device and self._protocol.is_cold
        self._flush = Flush(memory, room_bytes(memory.device), len(self._sets)) if is_flushed else None
        self._candidate, self._baseline = self._make_side(candidate), self._make_side(baseline)
        self._others = {kind: self._make_side(worker) for kind, worker in (others or {}).items()}
        self._sides = [self._candidate, self._baseline, *self._others.values()]
        self._outputs = allocate_outputs(memory, self._form)
        """Memory for revealed answers. The baselines get it once the candidate, who could find answers there, is gone."""
        candidate.hand_over(self._outputs, deadline_s)
        self._calls = self._blocks = self._warm_up_calls = 0
        self._length = 1
        """Calls in a block."""
        self._asked_at = 0
        """The number of blocks when the interval was found last."""
        self._in_bursts = False
        self._check_s = 0.0
        """What it takes to compare an answer, the reference's own included."""

    def run(self) -> TimingEvidence:
        """Warm up, then time both until there are calls enough, then the baseline alone.

        Raises WrongAnswerError, BaselineFailedError, UnfitProtocolError, WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
        """
        try:
            return self._run()
        except UnrecordableError as error:
            raise UnfitProtocolError(str(error)) from error
        except WrongAnswerError as error:
            if not self._protocol.replays:
                raise
            # The graph may be at fault, which does what the host did once: it is no answer of the submission's as it is usually called.
            raise UnfitProtocolError(f"replayed, its answer is another: {error}") from error

    def _run(self) -> TimingEvidence:
        steady = self._warm_up()
        self._warm_reveal(self._candidate)
        stop = self._run_blocks()
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
        baseline = alone.samples_ms(talk_ms) if timing.disturbed else self._baseline.samples_ms(talk_ms)
        observed: dict[str, Any] = {
            "calls": self._calls,
            "unflushed": self._candidate.unflushed,
            "unflushed_bursts": self._candidate.unflushed_bursts,
            "protocol": self._protocol.name,
            "calls_in_block": self._length,
            "blocks": self._blocks,
            "warm_up_calls": self._warm_up_calls,
            "steady": steady,
            "stop": stop,
            "interval": interval(self._candidate.samples_ms(talk_ms), baseline, self._blocks, paired=not timing.disturbed),
            "others": {kind: side.summary(talk_ms) for kind, side in self._others.items()},
        }
        return timing.model_copy(update=observed)

    def _make_sets(self) -> list[InputSet]:
        """Memory in which both workers see the inputs of calls, at places that change."""
        first = InputSet(self._memory, self._arguments)
        nbytes = sum(allocation.nbytes for allocation in first.allocations)
        more = max(0, min(MAX_SETS, room_bytes(self._memory.device) // max(nbytes, 1)) - 1)
        return [first, *(InputSet(self._memory, self._arguments) for _ in range(more))]

    def _make_side(self, worker: Worker) -> Side:
        """One side, whose worker sees what all are given, and has a gate that another one can't close."""
        gate = _working_gate(self._memory) if self._on_device else None
        device = self._memory.device if self._on_device else None
        side = Side(worker, self._deadline_s, self._flush, gate, device=device, replays=self._protocol.replays, since=self._since)
        shared = [allocation for one in self._sets for allocation in one.allocations]
        worker.hand_over([*shared, *(self._flush.allocations if self._flush else [])], self._deadline_s)
        if side.gate:
            worker.request("gate", self._deadline_s, [side.gate.descriptor])
        return side

    def _make_bursts(self) -> Bursts | None:
        """The judge's own witness on a GPU; on the CPU all of the time is the judge's."""
        if not self._on_device:
            return None
        areas = self._flush.areas if self._flush else None
        replayed = self._protocol.replays
        drawing = (self._draw, self._sampler.draw, areas)
        bursts = Bursts(self._memory, self._sets, self._outputs, self._shapes, *drawing, replayed=replayed)
        self._candidate.worker.hand_over(bursts.allocations[len(self._outputs) :], self._deadline_s)
        return bursts

    def _draw(self) -> list[Any]:
        return self._case.inputs(fresh_seed(), self._memory.device)

    def _given(self, side: Side, count: int) -> list[list[Any]]:
        """Arguments for so many calls: of a baseline beside the candidate what that was given last, and otherwise new ones."""
        beside = side is self._baseline or side in self._others.values()
        if not beside or len(self._arguments) != count:
            self._arguments = []
            self._arguments = [self._draw() for _ in range(count)]
        return self._arguments

    def _call(self, side: Side) -> Answer:
        """One call, which is no sample."""
        (arguments,) = self._given(side, 1)
        inputs = _random.choice(self._sets)
        with self._blaming(side):
            return Answer(inputs, arguments, *read_claim(side.call(inputs, arguments)[2]), self._calls)

    def _block(self, side: Side) -> list[Answer]:
        """A block of calls that count."""
        length = self._length
        sets = self._sets[:length] if self._protocol.replays else _random.sample(self._sets, length)
        given = list(zip(sets, self._given(side, length), strict=True))
        with self._blaming(side):
            answers = [read_claim({"output": answer}) for answer in self._protocol.take(side, given)]
        places = [None] if length == 1 and not self._on_device else range(length)
        return [Answer(*pair, *claim, self._calls, place) for pair, claim, place in zip(given, answers, places, strict=True)]

    @contextmanager
    def _blaming(self, side: Side) -> Iterator[None]:
        """Whatever a baseline's worker sends is not the candidate's fault."""
        try:
            yield
        except ProtocolError as error:
            if side is self._candidate:
                raise
            raise BaselineFailedError(f"the baseline's worker sent what it should not: {error}") from error

    def _warm_up(self) -> bool:
        """Call all sides in turns until none of their times changes any more, or until there is no more time for that; whether they are
        steady. The last of these times tell how many calls a block is of."""
        start = time.monotonic()
        took_ms: list[list[float]] = [[] for _ in self._sides]
        steady = False
        while not steady and (self._warm_up_calls < WARM_UP_CALLS or time.monotonic() - start < WARM_UP_S):
            self._warm_up_calls += 1
            for side, times_ms in zip(self._sides, took_ms, strict=True):
                (arguments,) = self._given(side, 1)
                with self._blaming(side):
                    wall_ms, claim_ms, _ = side.call(_random.choice(self._sets), arguments)
                times_ms.append(claim_ms if self._on_device else wall_ms)
            steady = all(map(_is_steady, took_ms))
            if self._warm_up_calls >= MOST_WARM_UP_CALLS:
                break
        answer_bytes = max(sum(allocation.nbytes for allocation in self._outputs), 1)
        areas = self._flush.areas if self._flush else MAX_SETS
        room = min(len(self._sets), areas, room_bytes(self._memory.device) // answer_bytes)
        call_ms = max(statistics.median(times_ms[-WARM_UP_CALLS:]) for times_ms in took_ms)
        self._length = self._protocol.calls_in_block(call_ms, max(room, 1))
        for side in self._sides if self._on_device else ():
            self._block(side)
            side.forget()
        return steady

    def _run_blocks(self) -> str:
        """A block of each side, in an order drawn anew, until there are enough; why they are."""
        start = time.monotonic()
        while not (stop := self._stop(time.monotonic() - start)):
            self._calls += self._length
            self._blocks += 1
            for side in _random.sample(self._sides, len(self._sides)):
                self._inspect(side, self._block(side))
            self._look()
        return stop

    def _inspect(self, side: Side, answers: list[Answer]) -> None:
        """Look at a block's answers: at the form of all of them, and at what some of the candidate's hold."""
        if side is self._candidate and _random.random() < REVEAL_SHARE:
            picked = _random.sample(answers, min(PICKED, len(answers)))
            taken = [self._reveal(side, answer) for answer in picked]
            for answer, values in zip(picked, taken, strict=True):
                if _random.random() < self._check_share():
                    self._check(values, answer)
        elif side is self._candidate:
            self._watch(side)
        for answer in answers:
            self._match(side, answer)
        side.check_flush(len(answers))

    def _stop(self, elapsed_s: float) -> str:
        """Why there are blocks enough; empty where there are not."""
        if self._calls < LEAST_CALLS or self._blocks < 1:
            return ""
        if self._calls >= MIN_CALLS and self._blocks >= MIN_BLOCKS:
            if self._blocks >= ASK_AGAIN * self._asked_at and self._is_precise():
                return PRECISE
            if elapsed_s >= (ENOUGH_S if self._on_device else CPU_ENOUGH_S):
                return BUDGET
        return BUDGET if self._length * sum(sum(side.wall_ms) for side in self._sides) >= BUDGET_S * 1e3 else ""

    def _is_precise(self) -> bool:
        """Whether the ratio is known as closely as is asked for."""
        self._asked_at = self._blocks
        candidate_ms, baseline_ms = (side.samples_ms(0.0) for side in (self._candidate, self._baseline))
        return is_narrow(interval(candidate_ms, baseline_ms, self._blocks))

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
                is_checked = len(side.reveal_ms) < MIN_REVEALS
                answer = self._call(side)
                taken = self._reveal(side, answer)
                if is_checked:
                    self._check(taken, answer)
            elif len(side.background_ms) < MIN_WATCHES and not self._on_device:
                self._match(side, self._call(side))
                self._watch(side)
            else:
                return

    def _warm_reveal(self, side: Side) -> None:
        """One reveal that does not count, to warm the path."""
        answer = self._call(side)
        taken = self._reveal(side, answer)
        if side is self._candidate:
            self._check(taken, answer)
        side.reveal_ms.clear()

    def _reveal(self, side: Side, answer: Answer) -> Taken:
        """Have an answer copied into the judge's memory, by the clock.

        The reference, for a comparison, runs when all of a block have been: meanwhile the worker has time for what it has put off.
        """
        claims = self._match(side, answer)
        side.claims, side.described = claims, answer.described
        sample = self._sampler.draw()
        with side.revealing():
            spin_s = SPIN_S if self._on_device else 0.0
            where = (self._outputs, claims, answer.described, self._shapes, self._deadline_s, spin_s)
            ask_to_reveal(side.worker, *where, call=answer.place)
            values = snapshot(self._outputs, claims, self._shapes, sample)
        return Taken(values, sample)

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
        blocks = MIN_CALLS if self._length == 1 else MIN_BLOCKS
        reveals = REVEAL_SHARE * max(blocks, self._blocks) * min(PICKED, self._length)
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
        if not inputs.unchanged(arguments, self._case.in_place):
            raise WrongAnswerError(self._calls, "forward() changed its input", Category.MUTATED_INPUT)

    def _run_alone(self, bursts: Bursts | None) -> Side:
        """The baseline with the candidate gone: what everything costs where nobody wants it to look long or short."""
        before = self._baseline
        alone = Side(
            before.worker, self._deadline_s, self._flush, before.gate, device=before.device, replays=before.replays, since=self._since
        )
        alone.worker.hand_over(bursts.allocations if bursts else self._outputs, self._deadline_s)
        self._warm_reveal(alone)
        start = time.monotonic()
        for number in range(ALONE_BLOCKS):
            if number * self._length >= LEAST_CALLS and time.monotonic() - start > ALONE_S:
                break
            answers = self._block(alone)
            if number % 2:
                self._reveal(alone, _random.choice(answers))
            else:
                self._watch(alone)
            del answers
            self._look()
        if bursts:
            self._call(alone)
            self._arguments = []
            bursts.run_idle(alone, self._candidate)
        return alone


def _is_steady(times_ms: Sequence[float]) -> bool:
    """Whether the last WARM_UP_CALLS took as long as those before them."""
    last, before = times_ms[-WARM_UP_CALLS:], times_ms[-2 * WARM_UP_CALLS : -WARM_UP_CALLS]
    if len(before) < WARM_UP_CALLS:
        return False
    middle_ms = statistics.median(last)
    return abs(middle_ms - statistics.median(before)) <= STEADY_SHARE * middle_ms


def _working_gate(memory: Memory) -> Gate | None:
    gate = Gate(memory)
    return gate if gate.works() else None
