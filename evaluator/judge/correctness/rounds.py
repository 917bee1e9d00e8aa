"""The correctness rounds: each makes random inputs, calls the submission, and compares its output with the reference's.

`evaluator.judge.correctness.inputs.round_inputs` chooses the inputs. Some rounds call twice with the same input. In between, the worker's
free memory is filled with a pattern. If the second output differs, it is nondeterministic or was never written. Inputs begin at one
address, then twice at another, then twice at the first: results cached by address are wrong already here.
"""

import secrets
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import torch

from evaluator.diagnosis.rules.output_rules import OF_VALUES, PREVIOUS_OUTPUT
from evaluator.judge import limits
from evaluator.judge.correctness.check import INACCURATE, OVERFLOWS, Judgement, judge_values, learn, uncertain_outputs, why_undecided
from evaluator.judge.correctness.errors.compute_rule import broken_rule
from evaluator.judge.correctness.errors.stale_output import digest
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.round_inputs import RoundInputs, RoundPlan
from evaluator.judge.correctness.output_structure import MismatchError, form_of, has_plain_values, match, read_claim
from evaluator.judge.correctness.readback import allocate_outputs, ask_to_reveal, holds, poison, snapshot
from evaluator.judge.correctness.reference import Oracle, ReferenceFailedError, widened
from evaluator.judge.correctness.row_sampling import Sampler
from evaluator.judge.device.synchronize import leave_memory, synchronize
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category
from evaluator.results.distributions import DISTRIBUTIONS, OUTLIERS, OWN, RUNS, Rule
from evaluator.results.evidence import ErrorFigures, RoundEvidence
from evaluator.worker.nested import tensors_of

KERNELS_S = 5.0
"""Timeout of the call that records the kernels of a wrong answer."""
VARIES = "a second call with the same input gave another output: random numbers (dropout is off here), a race or uninitialised memory"
BY_ROUNDING = (Category.WRONG_VALUES, Category.PRECISION_LOSS, Category.NONDETERMINISTIC)
"""Categories of an answer that may be wrong by rounding alone."""
COMPARED_AGAIN = 1 << 14
"""Maximum number of elements of a wrong output that are compared with the next output for the same input."""
MAX_SIZES = 64
"""Maximum number of different sizes of the inputs' dimensions that are kept."""


def has_overflowed(rounds: Iterable[RoundEvidence]) -> bool:
    """Whether an output overflowed because of outliers, so that the round was left out."""
    return any(each.distribution == OUTLIERS and each.passed and each.message.endswith(OVERFLOWS) for each in rounds)


class Rounds:
    """The correctness rounds of one worker on one device."""

    def __init__(
        self,
        worker: WorkerClient,
        case: ProblemCase,
        oracle: Oracle,
        memory: SharedMemory,
        deadline_s: float,
        *,
        strict_inputs: bool = False,
        hurries: bool = False,
        is_brief: bool = False,
    ) -> None:
        """hurries: a very slow submission gets few more rounds after its first outputs were right. is_brief: every submission gets few."""
        self._is_brief = is_brief
        self._worker, self._case, self._oracle, self._memory = worker, case, oracle, memory
        self._deadline_s, self._strict_inputs, self._hurries = deadline_s, strict_inputs, hurries
        self._call_s = 0.0
        """Duration of the last call, in seconds."""
        self.is_slow = False
        """Whether the submission is very slow, and got few rounds."""
        self._uncertain: dict[int, float] = {}
        """Numbers of the outputs on which rounding decides with the problem's own inputs, and the error of a reference that is rounded
        otherwise."""
        self._inputs: InputSet | None = None
        self._fills = 0
        """Number of times that inputs got new values: every second time at the other address."""
        self._outputs: list[Allocation] = []
        self._digests: list[tuple[int, ...]] = []
        """Digests of the outputs of the last round."""
        self.distribution = ""
        """Distribution of the current or last round."""
        self._sampler = Sampler([], [], False)
        """Chooses the rows to compare where only some were changed."""
        self.form: Any = None
        """Structure, shapes and dtypes of the output (`output_structure.form_of`)."""
        self.sizes: tuple[int, ...] = ()
        """Sizes of the inputs' dimensions, after the first round."""

    def run(self) -> Iterator[RoundEvidence]:
        """Run every round, up to the first that fails. Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError."""
        round_inputs = self._prepare()
        plans = deque(round_inputs.brief() if self._is_brief else round_inputs.plans)
        index = 0
        draw: Draw | None = None
        while plans:
            plan = plans.popleft()
            start = time.monotonic()
            draw = (round_inputs.after(draw, plan) if draw else None) or round_inputs.draw(plan)
            evidence = self._round(index, plan, draw)
            evidence = evidence.model_copy(update={"seconds": round(time.monotonic() - start, 6)})
            if not evidence.passed:
                self._time_kernels()
            yield evidence
            if not evidence.passed:
                return
            if index == 0 and self._hurries and self._takes_far_longer(draw.arguments):
                self.is_slow, plans = True, deque(round_inputs.fewest())
            if plan.distribution == OUTLIERS and evidence.message:  # left out
                plans.appendleft(RoundPlan(RUNS))
            index += 1

    def _takes_far_longer(self, arguments: Sequence[Any]) -> bool:
        """Whether the last call, the second one with these arguments, took far longer than the reference."""
        is_slow = self._call_s >= limits.SLOW_CALL_S
        return is_slow and self._call_s > limits.SLOW_FACTOR * min(self._reference_s(arguments) for _ in range(2))

    def _reference_s(self, arguments: Sequence[Any]) -> float:
        start = time.monotonic()
        self._oracle.expected(arguments)
        synchronize(self._memory.device)
        return time.monotonic() - start

    def report(self) -> Iterator[RoundEvidence]:
        """Run a round of each distribution that decides nothing, even after a failed one. Raises as `run` does."""
        round_inputs = self._prepare()
        for index, name in enumerate(round_inputs.reported):
            plan = RoundPlan(name)
            yield self._round(index, plan, round_inputs.draw(plan))

    def provoke(self, count: int) -> None:
        """Make the calls of the first `count` rounds, and ignore their outputs.

        Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
        """
        round_inputs = self._prepare()
        for plan in round_inputs.plans[:count]:
            draw = round_inputs.draw(plan)
            for _ in range(0 if draw.left_out else 1 + plan.twice):
                self._fill(draw.arguments)
                self._poison(secrets.choice(range(1, 255)))
                self._call()

    def _prepare(self) -> RoundInputs:
        """Allocate memory for outputs, and plan the rounds."""
        round_inputs = RoundInputs(self._case, self._memory.device, self._oracle, strict=self._strict_inputs)
        self.form = form_of(round_inputs.expected)
        self._sampler = Sampler(round_inputs.example, [tensor for _, tensor in tensors_of(self.form)], self._case.rows_independent)
        self.sizes = tuple(sorted({size for _, tensor in tensors_of(round_inputs.example) for size in tensor.shape}))[:MAX_SIZES]
        round_inputs.forget()
        self._outputs = allocate_outputs(self._memory, self.form)
        self._worker.hand_over(self._outputs, self._deadline_s)
        return round_inputs

    def _time_kernels(self) -> None:
        """Record the kernels of a wrong answer. This does not change the verdict."""
        if self._memory.device.type != "cuda" or self._worker.launches is None:
            return
        with self._worker.unjudged():
            self._worker.note_kernels(self._worker.request("call", min(self._deadline_s, KERNELS_S), set=0, kernels=True))

    def close(self) -> None:
        """Take all memory back from the worker, and stop filling its free memory."""
        self._poison(None)
        allocations = [*(self._inputs.allocations if self._inputs else []), *self._outputs]
        self._worker.take_back(allocations, self._deadline_s)
        self._memory.free(allocations)

    def _round(self, index: int, plan: RoundPlan, draw: Draw) -> RoundEvidence:
        if draw.left_out:
            message = f"left out: {draw.left_out}"[:1000]
            return RoundEvidence(index=index, seed=draw.seed, distribution=draw.distribution, passed=True, message=message)
        arguments = draw.arguments
        self.distribution = draw.distribution
        self._fill(arguments)
        pattern = secrets.choice(range(1, 255))
        self._poison(pattern)
        claim = self._call()
        if has_plain_values(self.form):
            self.form = form_of(self._oracle.expected(arguments))
        answer, values = self._judge(claim, draw, pattern)
        digests = [digest(value) for value in values]
        answer = self._mutation(answer, arguments)
        first, wrong = answer, answer.category is not None
        reason = self._why_undecided(draw, answer, values) if wrong else ""
        cause = "" if reason else self._stale(answer, digests) or self._cause(answer, values, arguments)
        if answer.category is not Category.MUTATED_INPUT and (answer.figures and not reason if wrong else plan.twice):
            answer = self._mutation(self._again(answer, values, draw), arguments)
        if not wrong or answer.category is not first.category:
            reason, cause = self._why_undecided(draw, answer, values), ""
        if draw.rule is Rule.TOLERANCE and (draw.distribution == OWN or DISTRIBUTIONS[draw.distribution].few):  # like those of timed calls
            learn(self._oracle, answer)
        if reason:
            answer = Judgement(None, f"left out: {reason}", answer.figures)
        self._digests = digests
        return RoundEvidence(
            index=index,
            seed=draw.seed,
            distribution=draw.distribution,
            passed=answer.category is None,
            category=answer.category,
            message=answer.message,
            outputs=answer.figures,
            cause=cause,
        )

    def _why_undecided(self, draw: Draw, answer: Judgement, values: list[torch.Tensor]) -> str:
        """Why the answer decides nothing; empty if it decides."""
        if draw.rule.is_gross:
            return why_undecided(self._oracle, answer, values, draw.arguments, draw.rule)
        if draw.distribution != OWN:
            return "" if answer.informative else INACCURATE
        if self._is_brief or not self._is_by_rounding(answer, draw.arguments):
            return ""
        self._oracle.is_uncertain = True
        return f"rounded otherwise, the reference differs from its float64 form by {max(self._uncertain.values()):.2g} times its magnitude"

    def _is_by_rounding(self, answer: Judgement, arguments: Sequence[Any]) -> bool:
        """Whether rounding decides on an output of the reference, and on each one that is wrong. In workloads it is not asked: their rounds
        are not stored."""
        by_rounding = answer.category in BY_ROUNDING and answer.wrong and not (answer.overflows or answer.informative)
        if answer.category is not None and not by_rounding:
            return False
        if not self._uncertain and (by_rounding or answer.accepts_zeros):
            self._uncertain = uncertain_outputs(self._case, self._oracle, arguments)
        return bool(self._uncertain) and answer.wrong <= self._uncertain.keys()

    def _stale(self, answer: Judgement, digests: list[tuple[int, ...]]) -> str:
        """PREVIOUS_OUTPUT if every wrong output equals the previous round's, whose inputs differ; else empty."""
        wrong = [number for number, figures in enumerate(answer.figures) if figures.wrong]
        kept = answer.category in OF_VALUES and wrong and self._digests and all(digests[each] == self._digests[each] for each in wrong)
        return PREVIOUS_OUTPUT if kept else ""

    def _cause(self, answer: Judgement, values: list[torch.Tensor], arguments: Sequence[Any]) -> str:
        """The known approximation that a wrong answer equals; empty if there is none."""
        wide = self._oracle.wide_model
        wrong = next((number for number, figures in enumerate(answer.figures) if figures.wrong), None)
        if answer.category not in OF_VALUES or not values or wide is None or wrong is None:
            return ""
        if self._case.problem.declaration.compute:
            dtype = self._oracle.dtype or torch.float64
            if cause := broken_rule(wide, arguments, values[wrong], wrong, lambda argument: widened(argument, dtype)):
                return cause
        known_cause = import_module("evaluator.approximations.known_cause").known_cause  # a package outside of the core
        return str(known_cause(wide, arguments, values, wrong, answer.figures[wrong].tolerance))

    def _mutation(self, answer: Judgement, arguments: Sequence[Any]) -> Judgement:
        """`answer`, or MUTATED_INPUT if the call changed its input."""
        if self._inputs is None or self._inputs.unchanged(arguments, self._case.in_place):
            return answer
        return Judgement(Category.MUTATED_INPUT, "forward() changed its input", answer.figures)

    def _again(self, first: Judgement, values: list[torch.Tensor], draw: Draw) -> Judgement:
        """Fill the worker's free memory, call once more with the same input, and return the verdict on both answers.

        `values` are the first answer's. They are dropped if the second's differ.
        """
        if self._case.in_place:
            self._fill(draw.arguments)
        pattern = secrets.choice(range(1, 255))
        self._poison(pattern)
        some = [_some(value) for value in values]
        second, values = self._judge(self._call(), draw, pattern, (first, values))
        if second.category is Category.UNWRITTEN_OUTPUT:
            return second
        if first.category is None and second.category is not None:
            message = f"two calls with the same input: the first was right, the second wrong: {second.message}"
            return replace(second, category=Category.NONDETERMINISTIC, message=message)
        if first.category is not None and second.category is None:
            message = f"two calls with the same input: the first was wrong, the second right: {first.message}"
            return replace(first, category=Category.NONDETERMINISTIC, message=message)
        if _moved(first, second):
            message = f"two calls with the same input: other elements were wrong in the second: {first.message}"
            return replace(first, category=Category.NONDETERMINISTIC, message=message)
        if any(map(_differ, some, map(_some, values), [each.tolerance for each in first.figures])):
            return replace(first, message=f"{first.message}; {VARIES}")
        return first

    def _fill(self, arguments: Sequence[Any]) -> None:
        if self._inputs is None:
            self._inputs = InputSet(self._memory, arguments, movable=True)
            self._worker.hand_over(self._inputs.allocations, self._deadline_s)
        else:
            if self.distribution not in (OUTLIERS, RUNS):  # these change values at the same address
                self._fills += 1
                if self._fills % 2:
                    self._inputs.move()
            self._inputs.fill(arguments)
        self._worker.request("inputs", self._deadline_s, sets=[self._inputs.tree(arguments)])

    def _poison(self, pattern: int | None) -> None:
        poison(self._worker, self._outputs, self._deadline_s, pattern)

    def _call(self) -> tuple[Any, int]:
        synchronize(self._memory.device)
        leave_memory(self._memory.device)
        start = time.monotonic()
        answer = self._worker.request("call", self._deadline_s, set=0)
        self._call_s = time.monotonic() - start
        return read_claim(answer)

    def _judge(
        self,
        claim: tuple[Any, int],
        draw: Draw,
        pattern: int,
        known: tuple[Judgement, list[torch.Tensor]] | None = None,
    ) -> tuple[Judgement, list[torch.Tensor]]:
        """Have an answer revealed, and return the verdict on it and its values.

        `known` holds those of the previous answer. It is returned if the new values are the same, bit for bit.
        """
        claimed, count = claim
        try:
            claims = list(match(claimed, self.form, self._memory.device.type))
        except MismatchError as error:
            self._require_form(draw.arguments)
            return Judgement(error.category, str(error)), []
        shapes = [tensor for _, tensor in tensors_of(self.form)]
        ask_to_reveal(self._worker, self._outputs, claims, count, shapes, self._deadline_s, release=True)
        if known is not None:
            if holds(self._outputs, claims, known[1]):
                return known
            known[1].clear()  # memory may not suffice for both
        values = snapshot(self._outputs, claims, shapes)
        if draw.changed_rows and (judged := self._judge_changed_rows(draw, values)):
            return judged, values
        return judge_values(self._case, self._oracle, draw.arguments, values, self.form, pattern, rule=draw.rule), values

    def _judge_changed_rows(self, draw: Draw, values: list[torch.Tensor]) -> Judgement | None:
        """The verdict on the changed rows and some others; None if all rows have to be compared."""
        sample = self._sampler.holding(draw.changed_rows)
        if sample is None:
            return None
        some = [sample.of(value) for value in values]
        try:
            judged = judge_values(self._case, self._oracle, draw.arguments, some, self.form, sample=sample, rule=draw.rule)
        except ReferenceFailedError:  # it may not take this number of rows
            return None
        return judged if judged.category is None else None

    def _require_form(self, arguments: Sequence[Any]) -> None:
        """Raises ReferenceFailedError if the reference's output for these inputs has other shapes than its first one."""
        sizes = [[tensor.shape for _, tensor in tensors_of(value)] for value in (self._oracle.expected(arguments), self.form)]
        if sizes[0] != sizes[1]:
            raise ReferenceFailedError("the shapes of the reference's output change with the inputs' values")


def _moved(first: Judgement, second: Judgement) -> bool:
    """Whether a few elements are wrong in both answers, and not the same ones."""
    both = zip(first.figures, second.figures, strict=False)
    return any(
        one.first_index != two.first_index and 0 < max(one.wrong, two.wrong) <= max(1, limits.ISOLATED_SHARE * one.elements)
        for one, two in both
    )


def _some(value: torch.Tensor) -> torch.Tensor:
    """Up to COMPARED_AGAIN elements of an output, spread over it, in a type that holds them all."""
    return value.reshape(-1)[:: 1 + value.numel() // COMPARED_AGAIN].to(torch.complex128)


def _differ(first: torch.Tensor, second: torch.Tensor, tolerance: float) -> bool:
    """Whether two answers to one input differ beyond the tolerance, relative to the RMS of the first."""
    first, second = first.nan_to_num(), second.nan_to_num()
    return bool(((first - second).abs() > tolerance * first.abs().square().mean().sqrt()).any())
