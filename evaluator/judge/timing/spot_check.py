"""Answers of timed calls looked at: the form of all, and what those hold that are revealed, unannounced."""

import secrets
import time
from typing import Any

from evaluator.judge.correctness.check import judge_values
from evaluator.judge.correctness.output_structure import ClaimedTensor, MismatchError, has_plain_values, match, tensors_of
from evaluator.judge.correctness.readback import allocate_outputs, ask_to_reveal, copying
from evaluator.judge.correctness.reference import BaselineFailedError, Oracle
from evaluator.judge.correctness.rounds import synchronize
from evaluator.judge.correctness.row_sampling import Sampler
from evaluator.judge.timing.gated_calls import Taken
from evaluator.judge.timing.interleave import Answer, Interleaver
from evaluator.judge.timing.timed_worker import SPIN_S, TimedWorker
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category
from evaluator.results.evidence import WrongTimedAnswer

REVEAL_SHARE = 0.5
"""Of the candidate's blocks: how often answers are copied out, by the clock, so that work put off is paid for."""
PICKED = 4
"""Answers of a block that are revealed then, drawn when it is over."""
CHECKS = 6
CPU_CHECKS = 12
"""Answers compared of each candidate at the least, on average, whatever the number of calls: more on the CPU, where no others are."""
CHECKS_S = 0.2
CPU_CHECKS_S = 0.5
"""As many more are compared as fit into this time. Of large answers it is rows drawn anew: the rounds have compared all rows."""

_random = secrets.SystemRandom()


class WrongAnswerError(Exception):
    """A timed answer was wrong where the rounds' were right; there is no time to be had."""

    def __init__(self, call: int, message: str, category: Category = Category.CACHED_OUTPUT, *, back_to_back: bool = False) -> None:
        super().__init__(message)
        self.evidence = WrongTimedAnswer(call=call, message=message, category=category, back_to_back=back_to_back)


class SpotCheck:
    """What the answers of one timing's turns are held against."""

    def __init__(self, turns: Interleaver, case: ProblemCase, oracle: Oracle, form: Any, memory: SharedMemory, deadline_s: float) -> None:
        """`form` is what an answer looks like (evaluator.judge.correctness.output_structure.form_of)."""
        self._turns, self._case, self._oracle, self._deadline_s = turns, case, oracle, deadline_s
        self._device = memory.device
        self._form, self.shapes = form, [tensor for _, tensor in tensors_of(form)]
        self.sampler = Sampler(turns.example, self.shapes, case.rows_independent)
        self.outputs = allocate_outputs(memory, form)
        """Memory for revealed answers. The baselines get it once the candidate, who could find answers there, is gone."""
        self._check_s = 0.0
        """What it takes to compare an answer, the reference's own included."""
        self.in_bursts = False

    def is_due(self) -> bool:
        """Whether answers of a block are to be revealed, drawn anew."""
        return _random.random() < REVEAL_SHARE

    def look_into(self, answers: list[Answer], blocks: int) -> None:
        """Have some of the candidate's answers revealed, and compare some of these, where it is one of so many `blocks`, about.

        Raises WrongAnswerError, WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
        """
        picked = _random.sample(answers, min(PICKED, len(answers)))
        taken = [self.reveal(self._turns.candidate, answer) for answer in picked]
        for answer, values in zip(picked, taken, strict=True):
            if _random.random() < self._check_share(blocks):
                self.check(values, answer)

    def reveal(self, side: TimedWorker, answer: Answer) -> Taken:
        """Have an answer copied into the judge's memory, by the clock. It stops when the judge's own copy is done: whoever is revealed next
        would have to wait for that.

        The reference, for a comparison, runs when all of a block have been: meanwhile the worker has time for what it has put off.
        """
        claims = self.match(side, answer)
        side.claims, side.described = claims, answer.described
        sample = self.sampler.draw()
        copy = copying(self.outputs, claims, self.shapes, sample)
        with side.revealing():
            spin_s = SPIN_S if self._turns.on_device else 0.0
            where = (self.outputs, claims, answer.described, self.shapes, self._deadline_s, spin_s)
            ask_to_reveal(side.worker, *where, call=answer.place)
            values = copy()
            synchronize(self._device)
        return Taken(values, sample)

    def match(self, side: TimedWorker, answer: Answer) -> list[ClaimedTensor]:
        """The answer's tensors, in the order of the reference's; the values of plain numbers in it are not looked at.

        Raises WrongAnswerError, BaselineFailedError.
        """
        try:
            return list(match(answer.claimed, self._form, self._device.type, plain_values=False))
        except MismatchError as error:
            if side is self._turns.candidate:
                raise WrongAnswerError(answer.call, str(error)) from error
            raise BaselineFailedError(f"the baseline answered in another form than the reference: {error}") from error

    def _check_share(self, blocks: int) -> float:
        """Of the answers that are revealed: how many are compared, so that about as many are as have to be, or as there is time for."""
        reveals = REVEAL_SHARE * blocks * min(PICKED, self._turns.length)
        checks, checks_s = (CHECKS, CHECKS_S) if self._turns.on_device else (CPU_CHECKS, CPU_CHECKS_S)
        return max(checks, checks_s / max(self._check_s, 1e-6)) / reveals

    def check(self, taken: Taken, answer: Answer) -> None:
        """Compare an answer's tensors, and its plain numbers too. Raises WrongAnswerError."""
        start = time.monotonic()
        if has_plain_values(self._form):
            try:
                list(match(answer.claimed, self._oracle.expected(answer.arguments), self._device.type))
            except MismatchError as error:
                raise WrongAnswerError(answer.call, str(error)) from error
        self.compare(taken, answer.inputs, answer.arguments)
        self._check_s = time.monotonic() - start

    def compare(self, taken: Taken, inputs: InputSet, arguments: list[Any]) -> None:
        """Compare an answer's tensors. Raises WrongAnswerError."""
        judged = judge_values(self._case, self._oracle, arguments, taken.values, self._form, sample=taken.sample)
        if judged.category is not None:
            raise WrongAnswerError(self._turns.calls, judged.message, back_to_back=self.in_bursts)
        if not inputs.unchanged(arguments, self._case.in_place):
            raise WrongAnswerError(self._turns.calls, "forward() changed its input", Category.MUTATED_INPUT)
