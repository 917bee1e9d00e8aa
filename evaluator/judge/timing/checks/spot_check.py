"""Unannounced checks of timed calls: the judge has outputs revealed and compares some, or watches the processes after a call.

A submission that computes only some of its outputs does not know which the judge will check.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from evaluator.chance import chance
from evaluator.diagnosis.rules.unranked_rules import is_narrow
from evaluator.judge import limits
from evaluator.judge.again import Again, Reason
from evaluator.judge.correctness.check import decided, is_near_reference, judge_values, learn
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.round_inputs import RoundInputs
from evaluator.judge.correctness.oracle.reference import BaselineFailedError
from evaluator.judge.correctness.outcome import Right, Wrong
from evaluator.judge.correctness.output_structure import ClaimedTensor, MismatchError, has_plain_values, match
from evaluator.judge.correctness.readback import allocate_outputs, ask_to_reveal, copying
from evaluator.judge.correctness.row_sampling import Sample, Sampler
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.timing.checks.gated_calls import Taken
from evaluator.judge.timing.cpu.judge_place import JudgePlace
from evaluator.judge.timing.effort import FULL, Effort
from evaluator.judge.timing.interleave import Answer, Interleaver
from evaluator.judge.timing.setup import TimedCase
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.results.category import Category
from evaluator.results.distributions import DISTRIBUTIONS, ROWS
from evaluator.results.evidence import WrongTimedAnswer
from evaluator.worker.nested import tensors


class WrongAnswerError(Exception):
    """A timed call's output was wrong although the rounds' were right: no time counts."""

    def __init__(self, call: int, message: str, category: Category, draw: Draw) -> None:
        """draw: the call's inputs."""
        super().__init__(message)
        self.draw = draw
        self.evidence = WrongTimedAnswer(call=call, message=message, category=category)


class SpotCheck:
    """Checks the outputs of one timing."""

    def __init__(
        self, interleaver: Interleaver, timed_case: TimedCase, place: JudgePlace, effort: Effort, *, is_slow: bool = False
    ) -> None:
        """is_slow: reveal an output of each of the candidate's blocks, and make few further calls."""
        self._is_slow, self._effort = is_slow, effort
        self._interleaver, self._place, self._case, self._oracle = interleaver, place, timed_case.case, timed_case.oracle
        self._is_narrow = timed_case.is_narrow
        self._deadline_s, self._device, self._on_device = timed_case.deadline_s, timed_case.memory.device, timed_case.on_device
        self._outliers = timed_case.outliers
        self._form, self.shapes = timed_case.form, tensors(timed_case.form)
        self.sampler = Sampler(interleaver.inputs.example, self.shapes, self._case.rows_independent)
        self.outputs = allocate_outputs(timed_case.memory, self._form)
        """Memory for revealed outputs. The baselines get it after the candidate, which could read outputs there, has ended."""
        self._check_s = 0.0
        """Time of the last comparison, the reference's call included."""

    @property
    def answer_bytes(self) -> int:
        """Size of the outputs of one call."""
        return sum(allocation.nbytes for allocation in self.outputs)

    def inspect(self, timed: TimedWorker, answers: list[Answer]) -> None:
        """Check the form of all outputs of a block, and its flushes. For the candidate, at random, reveal some outputs or watch it.

        Raises WrongAnswerError, BaselineFailedError, WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
        """
        if timed is self._interleaver.candidate:
            is_changed = answers[0].draw.is_few
            if self._is_slow or chance.random() < self._reveal_shares[is_changed]:
                self._reveal_some(answers)
            else:
                self.watch(timed)
        for answer in answers:
            self._match(timed, answer)
        timed.check_flush(len(answers))

    @property
    def _reveal_shares(self) -> tuple[float, float]:
        """Share of the blocks to reveal outputs of, if the first call's inputs are the problem's own, and if a few values are changed."""
        if self._interleaver.length == 1 and not self._on_device:
            return limits.LONE_REVEAL_SHARE, limits.LONE_CHANGED_SHARE
        return limits.REVEAL_SHARE, limits.REVEAL_SHARE

    def _reveal_some(self, answers: list[Answer], *, surely: bool = False) -> None:
        """Reveal some outputs of a block, and compare some of these; surely: compare all of them."""
        picked = chance.sample(answers, min(limits.PICKED, len(answers)))
        taken = [self.reveal(self._interleaver.candidate, answer) for answer in picked]
        self._interleaver.candidate.samples.share_reveals(len(picked))
        for answer, values in zip(picked, taken, strict=True):
            weight = DISTRIBUTIONS[answer.draw.distribution].weight
            if surely or chance.random() < weight * self._check_share():
                self.check(values, answer)

    def probe(self) -> None:
        """Compare outputs of a block with outliers that is no sample, if outputs overflow from them. Otherwise a submission that overflows
        on purpose would meet none in its timed calls, and could estimate sums from some terms. It can't tell such a block from others."""
        if self._outliers is None:
            return
        timed = self._interleaver.candidate
        with self._interleaver.unsampled(timed, self._outliers):
            answers = self._interleaver.block(timed)
            changed = [answer for answer in answers if answer.draw.is_few]
            picked = chance.sample(changed, min(limits.PICKED, len(changed)))
            taken = [self.reveal(timed, answer) for answer in picked]
            for answer, values in zip(picked, taken, strict=True):
                self.check(values, answer)
            timed.check_flush(len(answers))

    def reveal(self, timed: TimedWorker, answer: Answer) -> Taken:
        """Take an output, or random rows of a large one."""
        return self.take(timed, answer, self.sampler.draw(answer.draw.changed_rows))

    def take(self, timed: TimedWorker, answer: Answer, sample: Sample | None) -> Taken:
        """Have an output copied into the judge's memory, by the clock, and copy these rows of it. The clock stops when the judge's own copy
        is done, so that the next reveal does not wait for it.

        The reference runs only after all outputs of a block were revealed: meanwhile the worker could do deferred work.
        """
        claims = self._match(timed, answer)
        timed.claims, timed.described = claims, answer.described
        copy = copying(self.outputs, claims, self.shapes, sample)
        with timed.revealing():
            spin_s = limits.SPIN_S if self._on_device else 0.0
            where = (self.outputs, claims, answer.described, self.shapes, self._deadline_s, spin_s)
            ask_to_reveal(timed.worker, *where, call=answer.place)
            values = copy()
            synchronize(self._device)
        return Taken(values, sample)

    def warm_reveal(self, timed: TimedWorker) -> None:
        """Make one reveal that does not count, to warm up. The candidate's is compared."""
        answer = self._interleaver.call(timed)
        taken = self.reveal(timed, answer)
        if timed is self._interleaver.candidate:
            self.check(taken, answer)
        timed.samples.forget_reveals()

    def watch(self, timed: TimedWorker) -> None:
        """Leave the worker alone, and note the CPU time that it uses: for each call, as long as one of the baseline's takes. Not on a GPU,
        where workers wait awake for requests; there bursts show late work."""
        if not self._on_device:
            took_ms = self._interleaver.baseline.samples.wall_ms[-1:]
            timed.watch(min(max([limits.LEAST_WATCH_S, *(ms / 1e3 for ms in took_ms)]), limits.MOST_WATCH_S))

    def settle(self) -> None:
        """Reveal and watch after further blocks of the candidate, which are no samples, until there are enough of both. Not after single
        calls: a submission could do the work of these at once, and defer that of blocks. On a GPU no reveal is timed."""
        timed = self._interleaver.candidate
        deadline, watches = (
            (0.0, 1) if self._is_slow or self._on_device else (time.monotonic() + self._effort.settling_s, limits.MIN_WATCHES)
        )
        while True:
            wanted, revealed = limits.SETTLED_REVEALS if time.monotonic() < deadline else limits.MIN_REVEALS, len(timed.samples.reveal_ms)
            if revealed < wanted:
                with self._further_block(timed) as answers:
                    self._reveal_some(answers, surely=revealed < limits.MIN_REVEALS)
            elif len(timed.samples.background_ms) < watches and not self._on_device:
                with self._further_block(timed) as answers:
                    self.watch(timed)
                    for answer in answers:
                        self._match(timed, answer)
            else:
                break
        self._check_again(timed)  # the last: calls on their own would announce that the samples are over

    @contextmanager
    def _further_block(self, timed: TimedWorker) -> Iterator[list[Answer]]:
        """A block that is no sample. The times of its reveals and watches count."""
        with self._interleaver.unsampled(timed):
            yield self._interleaver.block(timed)
            beside = timed.samples
        timed.samples.add_checks(beside)

    def _check_again(self, timed: TimedWorker) -> None:
        """Compare outputs for inputs that differ in a few values from the call before, at the same address. These are calls on their own,
        so the times of their reveals don't count."""
        changes = self._interleaver.inputs.changes
        if changes is None or not changes.in_place or self._is_slow:
            return
        most = limits.MOST_CALLS_AGAIN
        took_ms = self._interleaver.baseline.samples.wall_ms  # the candidate's could be long on purpose
        if self._on_device and took_ms:
            most = max(limits.LEAST_CALLS_AGAIN, min(most, int(limits.CALLS_AGAIN_S * 1e3 / max(statistics.median(took_ms), 1e-3))))
        for _ in range(most):
            with self._interleaver.unsampled(timed):
                answer = self._interleaver.call_again(timed, self._interleaver.call(timed), changes)
                self.check(self.reveal(timed, answer), answer)

    def _match(self, timed: TimedWorker, answer: Answer) -> list[ClaimedTensor]:
        """The output's tensors, in the order of the reference's. Values of plain numbers are not compared."""
        try:
            return list(match(answer.claimed, self._form, self._device.type, plain_values=False))
        except MismatchError as error:
            if timed is self._interleaver.candidate:
                raise WrongAnswerError(answer.call, str(error), error.category, answer.draw) from error
            raise BaselineFailedError(f"the baseline's output has another form than the reference's: {error}") from error

    def _check_share(self) -> float:
        """Share of the revealed outputs to compare: as many as required, or as there is time for."""
        blocks = max(limits.MIN_CALLS if self._interleaver.length == 1 else FULL.least_blocks, self._interleaver.blocks)
        own, changed = self._reveal_shares
        changed_share = limits.FEW_CHANGED_SHARE if self._interleaver.inputs.changes else 0.0
        weight = (1 - changed_share) * own + changed_share * changed * DISTRIBUTIONS[ROWS].weight
        checks, checks_s = (limits.CHECKS, limits.CHECKS_S) if self._on_device else (limits.CPU_CHECKS, limits.CPU_CHECKS_S)
        return max(checks, checks_s / max(self._check_s, 1e-6)) / (weight * blocks * min(limits.PICKED, self._interleaver.length))

    def check(self, taken: Taken, answer: Answer) -> None:
        """Compare an output's tensors and plain numbers. Raises WrongAnswerError."""
        start = time.monotonic()
        if has_plain_values(self._form):
            try:
                list(match(answer.claimed, self._oracle.expected(answer.draw.arguments), self._device.type))
            except MismatchError as error:
                raise WrongAnswerError(answer.call, str(error), error.category, answer.draw) from error
        self.compare(taken, answer.inputs, answer.draw)
        self._check_s = time.monotonic() - start

    def compare(self, taken: Taken, inputs: InputSet, draw: Draw) -> None:
        """Compare an output's tensors. Raises WrongAnswerError, and Again."""
        values, sample = taken.values, taken.sample
        with self._place.left():
            if not is_near_reference(self._case, self._oracle, draw.arguments, values, self._form, sample):
                judged = judge_values(self._case, self._oracle, draw.arguments, values, self._form, sample=sample, rule=draw.rule)
                self._decide(judged, taken, draw)
        if not inputs.unchanged(draw.arguments, self._case.in_place):
            raise WrongAnswerError(self._interleaver.calls, "forward() changed its input", Category.MUTATED_INPUT, draw)

    def _decide(self, judged: Right | Wrong, taken: Taken, draw: Draw) -> None:
        """Raises WrongAnswerError if an answer is wrong, and Again.

        It decides as in the rounds, and its arithmetic must not be narrower than there.
        """
        if not draw.rule.is_gross:
            learn(self._oracle, judged)
        elif isinstance(judged, Right):
            self._look_closely(judged, draw)
        outcome = decided(self._case, self._oracle, judged, taken.values, draw, sample=taken.sample)
        if not isinstance(outcome, Wrong):
            return
        if draw.rule.is_gross and RoundInputs(self._case, self._device, self._oracle).why_left_out(draw.arguments):
            return
        raise WrongAnswerError(self._interleaver.calls, outcome.message, outcome.category, draw)

    def _look_closely(self, right: Right, draw: Draw) -> None:
        """Look for less work in a right answer, where only gross errors are wrong. Raises Again, or WrongAnswerError if the
        arithmetic is narrower than in the rounds."""
        if self._outliers is None and right.overflows:
            raise Again(Reason.OVERFLOW)
        narrow = next(filter(is_narrow, right.figures), None)
        if narrow is not None and right.informative and not self._is_narrow:
            message = f"where a few values were changed, the RMS error is {narrow.rms_error:.2g}: more than in the rounds"
            raise WrongAnswerError(self._interleaver.calls, message, Category.PRECISION_LOSS, draw)
