"""The correctness rounds: each makes random inputs, calls the submission, and compares its output with the reference's.

`evaluator.judge.correctness.inputs.round_inputs` chooses the inputs. Some rounds call twice with the same input, as do those
with wrong values: if the second output differs, it is nondeterministic or was never written.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import Any

import torch

from evaluator.diagnosis.rules.output_rules import OF_VALUES, PREVIOUS_OUTPUT
from evaluator.judge import limits
from evaluator.judge.correctness.check import learn
from evaluator.judge.correctness.errors.compute_rule import broken_rule
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.round_inputs import RoundPlan
from evaluator.judge.correctness.oracle.reference import Oracle, widened
from evaluator.judge.correctness.outcome import LeftOut, Outcome, Right, Wrong
from evaluator.judge.correctness.trial import Trial
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.shared_memory import SharedMemory, raw_bytes
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category
from evaluator.results.distributions import DISTRIBUTIONS, OUTLIERS, OWN, RUNS, Rule
from evaluator.results.evidence import LeftOutBy, RoundEvidence

KERNELS_S = 5.0
"""Timeout of the calls that record kernels."""
VARIES = "a second call with the same input gave another output: random numbers (dropout is off here), a race or uninitialised memory"
COMPARED_AGAIN = 1 << 14
"""Maximum number of elements of a wrong output that are compared with the next output for the same input."""
MAX_SIZES = 64
"""Maximum number of different sizes of the inputs' dimensions that are kept."""
SAMPLE_BYTES = 1 << 20
"""Maximum number of an output's bytes that its digest sums."""


def has_overflowed(rounds: Iterable[RoundEvidence]) -> bool:
    """Whether an output overflowed because of outliers, so that the round was left out."""
    return any(each.distribution == OUTLIERS and each.left_out is LeftOutBy.OVERFLOW for each in rounds)


def digest(output: torch.Tensor) -> tuple[int, ...]:
    """Two sums over the output's bytes, or over a sample of them, one weighted by position. Outputs that differ almost never have the
    same."""
    flat = raw_bytes(output.clone(memory_format=torch.contiguous_format) if output.storage_offset() else output)
    some = flat[:: len(flat) // SAMPLE_BYTES + 1 | 1].long()  # an odd step meets each byte of an element
    return len(flat), int(some.sum()), int((some * torch.arange(1, 1 + len(some), device=some.device)).sum())


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
        self._worker, self._case, self._oracle, self._memory = worker, case, oracle, memory
        self._deadline_s, self._strict_inputs, self._hurries, self._is_brief = deadline_s, strict_inputs, hurries, is_brief
        self.is_slow = False
        """Whether the submission is very slow, and got few rounds."""
        self._digests: list[tuple[int, ...]] = []
        """Digests of the outputs of the last round."""
        self.distribution = ""
        """Distribution of the current or last round."""

    @cached_property
    def _trial(self) -> Trial:
        given = (self._worker, self._case, self._oracle, self._memory, self._deadline_s)
        return Trial(*given, strict_inputs=self._strict_inputs, asks_rounding=not self._is_brief)

    @property
    def form(self) -> Any:
        """Structure, shapes and dtypes of the output (`output_structure.form_of`)."""
        return self._trial.form

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the inputs' dimensions."""
        return tuple(self._trial.sizes[:MAX_SIZES])

    def run(self) -> Iterator[RoundEvidence]:
        """Run every round, up to the first that fails. Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError."""
        round_inputs = self._trial.round_inputs
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
            if plan.distribution == OUTLIERS and evidence.is_left_out:
                plans.appendleft(RoundPlan(RUNS))
            index += 1

    def _takes_far_longer(self, arguments: Sequence[Any]) -> bool:
        """Whether the last call, the second one with these arguments, took far longer than the reference."""
        call_s = self._trial.call_s
        return call_s >= limits.SLOW_CALL_S and call_s > limits.SLOW_FACTOR * min(self._reference_s(arguments) for _ in range(2))

    def _reference_s(self, arguments: Sequence[Any]) -> float:
        start = time.monotonic()
        self._oracle.expected(arguments)
        synchronize(self._memory.device)
        return time.monotonic() - start

    def report(self) -> Iterator[RoundEvidence]:
        """Run a round of each distribution that decides nothing, even after a failed one. Raises as `run` does."""
        round_inputs = self._trial.round_inputs
        for index, name in enumerate(round_inputs.reported):
            plan = RoundPlan(name)
            yield self._round(index, plan, round_inputs.draw(plan))

    def provoke(self, count: int) -> None:
        """Make the calls of the first `count` rounds, and ignore their outputs.

        Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
        """
        round_inputs = self._trial.round_inputs
        for plan in round_inputs.plans[:count]:
            draw = round_inputs.draw(plan)
            for _ in range(0 if draw.left_out else 1 + plan.twice):
                self._trial.fill(draw)
                self._trial.call()

    def _time_kernels(self) -> None:
        """Record the kernels of a wrong answer. This does not change the verdict."""
        if self._memory.device.type != "cuda" or self._worker.launches is None:
            return
        with self._worker.unjudged():
            self._worker.note_kernels(self._worker.request("call", min(self._deadline_s, KERNELS_S), set=0, kernels=True))

    def close(self) -> None:
        """Take all memory back from the worker, and stop filling its free memory."""
        self._trial.close()

    def _round(self, index: int, plan: RoundPlan, draw: Draw) -> RoundEvidence:
        cause = ""
        if draw.left_out:
            outcome: Outcome = LeftOut(LeftOutBy.NO_ANSWER, draw.left_out)
        else:
            self.distribution = draw.distribution
            self._trial.fill(draw)
            outcome, values = self._trial.judged(draw)
            digests = [digest(value) for value in values]
            if isinstance(outcome, Wrong):
                cause = self._stale(outcome, digests) or self._cause(outcome, values, draw.arguments)
            if self._is_asked_again(outcome, plan):
                first, outcome = outcome, self._again(outcome, values, draw)
                cause = cause if isinstance(outcome, Wrong) and isinstance(first, Wrong) and outcome.category is first.category else ""
            if draw.rule is Rule.TOLERANCE and (draw.distribution == OWN or DISTRIBUTIONS[draw.distribution].few):  # as in timed calls
                learn(self._oracle, outcome)
            self._digests = digests
        told: dict[str, Any] = {"passed": not isinstance(outcome, Wrong), "outputs": outcome.figures, "cause": cause}
        match outcome:
            case Wrong():
                told |= {"category": outcome.category, "message": outcome.message}
            case LeftOut():
                told |= {"left_out": outcome.reason, "message": f"left out: {outcome.message}"[:1000]}
        return RoundEvidence(index=index, seed=draw.seed, distribution=draw.distribution, **told)

    def _is_asked_again(self, outcome: Outcome, plan: RoundPlan) -> bool:
        """Whether the same inputs come once more."""
        if isinstance(outcome, Wrong):
            return outcome.category is not Category.MUTATED_INPUT and bool(outcome.figures)
        return plan.twice

    def _stale(self, wrong: Wrong, digests: list[tuple[int, ...]]) -> str:
        """PREVIOUS_OUTPUT if every wrong output equals the previous round's, whose inputs differ; else empty."""
        numbers = [number for number, figures in enumerate(wrong.figures) if figures.wrong]
        kept = wrong.category in OF_VALUES and numbers and self._digests and all(digests[each] == self._digests[each] for each in numbers)
        return PREVIOUS_OUTPUT if kept else ""

    def _cause(self, wrong: Wrong, values: list[torch.Tensor], arguments: Sequence[Any]) -> str:
        """The known approximation that a wrong answer equals; empty if there is none."""
        wide = self._oracle.wide_model
        number = next((number for number, figures in enumerate(wrong.figures) if figures.wrong), None)
        if wrong.category not in OF_VALUES or not values or wide is None or number is None:
            return ""
        if self._case.problem.declaration.compute:
            dtype = self._oracle.dtype or torch.float64
            if cause := broken_rule(wide, arguments, values[number], number, lambda argument: widened(argument, dtype)):
                return cause
        known_cause = import_module("evaluator.approximations.known_cause").known_cause  # a package outside of the core
        return str(known_cause(wide, arguments, values, number, wrong.figures[number].tolerance))

    def _again(self, first: Outcome, values: list[torch.Tensor], draw: Draw) -> Outcome:
        """Call once more with the same input, and return the verdict on both answers.

        `values` are the first answer's. They are dropped if the second's differ.
        """
        if self._case.in_place:
            self._trial.fill(draw)
        some = [_some(value) for value in values] if isinstance(first, Wrong) else []
        second, values = self._trial.judged(draw, (first, values))
        if isinstance(second, Wrong) and second.category in (Category.UNWRITTEN_OUTPUT, Category.MUTATED_INPUT):
            return second
        if not isinstance(first, Wrong):
            if not isinstance(second, Wrong):
                return second
            message = f"two calls with the same input: the first was right, the second wrong: {second.message}"
            return replace(second, category=Category.NONDETERMINISTIC, message=message)
        if isinstance(second, Right):
            message = f"two calls with the same input: the first was wrong, the second right: {first.message}"
            return replace(first, category=Category.NONDETERMINISTIC, message=message)
        if _moved(first, second):
            message = f"two calls with the same input: other elements were wrong in the second: {first.message}"
            return replace(first, category=Category.NONDETERMINISTIC, message=message)
        if any(map(_differ, some, map(_some, values), [each.tolerance for each in first.figures])):
            return replace(first, message=f"{first.message}; {VARIES}")
        return first


def _moved(first: Outcome, second: Outcome) -> bool:
    """Whether a few elements are wrong in both answers, and not the same ones."""
    both = zip(first.figures, second.figures, strict=False)
    return any(
        one.first_index != two.first_index and 0 < max(one.wrong, two.wrong) <= max(1, limits.ISOLATED_SHARE * one.elements)
        for one, two in both
    )


def _some(value: torch.Tensor) -> torch.Tensor:
    """Up to COMPARED_AGAIN elements of an output, spread over it, in a type that holds them all; 0 if not finite."""
    some = value.reshape(-1)[:: 1 + value.numel() // COMPARED_AGAIN].to(torch.complex128, copy=True)
    return some.nan_to_num(0.0, 0.0, 0.0)


def _differ(first: torch.Tensor, second: torch.Tensor, tolerance: float) -> bool:
    """Whether elements of two answers to one input differ beyond the tolerance."""
    size = first.abs()
    return bool(((first - second).abs() > tolerance * (size + size.square().mean().sqrt())).any())
