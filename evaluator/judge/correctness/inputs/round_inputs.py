"""Plans the correctness rounds, and makes their inputs.

On unchanged inputs of get_inputs(), the tolerance decides. On multiplied inputs (`signs`, `scaled`), and on inputs with a few changed
values (`rows`, `outliers`, `runs`), only gross errors decide. If the problem declares `"inputs": "any"`, or with --strict-inputs, every
distribution decides. Otherwise the other distributions only report.

A round is left out if the reference raises on its inputs, or returns NaN, infinity or a constant only there. `scaled` and `rows` are
first tried again with unchanged signs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from evaluator.chance import chance
from evaluator.judge import limits
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.judge.correctness.inputs.input_distributions import changed, changes_anything
from evaluator.judge.correctness.inputs.input_structure import InputStructure, structure_of
from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.judge.correctness.output_scale import all_finite
from evaluator.judge.correctness.tolerance import is_exact, is_float8
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.results.distributions import DISTRIBUTIONS, OWN, ROWS, SCALED, SOUND, Rule
from evaluator.worker.nested import tensors


@dataclass(frozen=True)
class RoundPlan:
    """One round: where its inputs come from, and whether the same are given twice."""

    distribution: str
    twice: bool = False


class RoundInputs:
    """Plans the rounds of a case on one device, and draws their inputs."""

    def __init__(self, case: ProblemCase, device: torch.device, oracle: Oracle, *, strict: bool = False) -> None:
        """strict: every distribution decides, whatever the problem declares. Raises ProblemError."""
        self._case, self._device, self._oracle, self._strict = case, device, oracle, strict
        self._structure = None if case.any_inputs else structure_of(case, device)
        self._few_changes = FewChanges(case, device)
        self.example = case.inputs(fresh_seed(), device)
        """One of the problem's own draws; set to an empty list when it is needed no more."""
        self.expected = oracle.observe(self.example)
        """Its reference output; None after that."""
        self._exact = any(is_exact(tensor.dtype) for tensor in tensors(self.expected))
        self._is_floating = any(tensor.is_floating_point() for tensor in tensors(list(self.example)))
        self._is_finite = _is_finite(self.expected)
        self._constant = {number for number, tensor in enumerate(tensors(self.expected)) if _is_constant(tensor)}
        """Numbers of the outputs that are constant on unchanged inputs."""

    def forget(self) -> None:
        """Drop the example, which may be large."""
        self.example, self.expected = [], None

    @cached_property
    def plans(self) -> list[RoundPlan]:
        """The rounds that decide, in their order: first and last the problem's own distribution, each with the same inputs twice.

        Unless `"inputs": "any"`, the rounds in between are shuffled: a submission can't predict them.
        """
        if self._case.any_inputs:
            others = [RoundPlan(name) for name in (*self._others(but=(OWN, SCALED)), *self._few())]
            padding = [RoundPlan(OWN)] * max(bool(self._case.stored), limits.ROUNDS - 2 - len(others))
            return [RoundPlan(OWN, twice=True), *padding, *others, RoundPlan(OWN, twice=True)]
        sound = (name for name in self._others() if name in SOUND)
        names = [*sound, *self._few(), *[OWN] * (limits.ROUNDS - 2), *(self.reported if self._strict else ())]
        between = [RoundPlan(name) for name in names]
        return [RoundPlan(OWN, twice=True), *chance.sample(between, len(between)), RoundPlan(OWN, twice=True)]

    def brief(self) -> list[RoundPlan]:
        """The rounds of one of several workloads: the first; then, shuffled, each distribution once, but only one of SOUND and only one
        that changes a few values."""
        few = [name for name, distribution in DISTRIBUTIONS.items() if distribution.few]
        others = [plan for plan in self.fewest() if plan.distribution not in SOUND]
        for kind in (SOUND, few):
            plans = [plan for plan in self.plans if plan.distribution in kind]
            others += chance.sample(plans, min(1, len(plans)))
        return [self.plans[0], *chance.sample(others, len(others))]

    def fewest(self) -> list[RoundPlan]:
        """The rounds after the first where calls are slow: each distribution once, in random order, without changes of a few values. A very
        slow submission gains nothing by knowing the problem's own inputs."""
        names = dict.fromkeys(plan.distribution for plan in self.plans[1:] if not DISTRIBUTIONS[plan.distribution].few)
        return [RoundPlan(name) for name in chance.sample(list(names), len(names))]

    @property
    def reported(self) -> list[str]:
        """The distributions that say whether a right submission is robust, and decide nothing."""
        return [] if self._case.any_inputs else self._others(but=(OWN, *SOUND))

    def _others(self, but: Sequence[str] = (OWN,)) -> list[str]:
        if self._structure is not None and self._oracle.asserts:
            return []  # a failed assertion would break the judge's context
        left_out = {*but, *self._case.problem.declaration.without}
        names = [
            name
            for name, distribution in DISTRIBUTIONS.items()
            if self._is_floating and name not in left_out and not distribution.few and not (distribution.ties and self._exact)
        ]
        return names if self._structure is None else [name for name in names if changes_anything(name, self._structure)]

    def _few(self) -> tuple[str, ...]:
        """The changes of a few values that rounds begin with."""
        if not self._is_floating or (self._structure is not None and self._oracle.asserts):
            return ()
        changes = self._few_changes
        return tuple(name for name in (ROWS, changes.in_place) if name in changes.names)

    def after(self, draw: Draw, plan: RoundPlan) -> Draw | None:
        """The previous round's inputs, changed in place; None if the plan needs fresh ones. Raises ProblemError,
        ReferenceFailedError."""
        if not DISTRIBUTIONS[plan.distribution].in_place or (draw.left_out and not draw.overwritten):
            return None
        seed = fresh_seed()
        return self._guarded(plan, self._few_changes.changed(plan.distribution, replace(draw, seed=seed), seed))

    def draw(self, plan: RoundPlan) -> Draw:
        """Fresh inputs. Raises ProblemError, ReferenceFailedError."""
        draw = self._draw(plan, self._structure, self._few_changes)
        if draw.left_out and plan.distribution in (SCALED, ROWS) and self._structure is not None:
            # A root or a logarithm has an answer to these.
            draw = self._draw(plan, self._structure.keeping_signs(), self._few_changes.keeping_signs())
        return draw

    def _draw(self, plan: RoundPlan, structure: InputStructure | None, few_changes: FewChanges) -> Draw:
        seed = fresh_seed()
        draw = Draw(seed, self._case.inputs(seed, self._device, with_files=plan != RoundPlan(OWN)))
        if DISTRIBUTIONS[plan.distribution].few:
            return self._guarded(plan, few_changes.changed(plan.distribution, draw, seed))
        return self._guarded(plan, replace(draw, arguments=changed(draw.arguments, plan.distribution, seed, structure)))

    def _guarded(self, plan: RoundPlan, draw: Draw) -> Draw:
        """The draw with the plan's distribution and rule. It is left out if the reference has no right output for changed inputs."""
        rule = Rule.TOLERANCE if self._case.any_inputs else DISTRIBUTIONS[plan.distribution].rule
        if self._strict and rule is Rule.REPORT:
            rule = Rule.TOLERANCE
        may_fail = self._structure is not None and plan.distribution != OWN
        left_out = self.why_left_out(draw.arguments) if may_fail else ""
        return replace(draw, distribution=plan.distribution, rule=rule, left_out=left_out)

    def why_left_out(self, arguments: list[Any]) -> str:
        """Why these changed inputs are not used, judging by the reference's output; empty if they are. Raises ReferenceFailedError
        if memory runs out."""
        try:
            expected = self._oracle.expected(arguments)
        except ReferenceFailedError as error:
            if isinstance(error.__cause__, torch.OutOfMemoryError | MemoryError):
                raise
            return f"{error}"
        if self._is_finite and not _is_finite(expected):
            return "here the reference's answer is NaN or infinite"
        if any(_is_constant(tensor) for number, tensor in enumerate(tensors(expected)) if number not in self._constant):
            return "here all elements of the reference's answer are the same"
        return ""


def _is_finite(answer: Any) -> bool:
    return all(all_finite(tensor) for tensor in tensors(answer))


def _is_constant(tensor: torch.Tensor) -> bool:
    """Whether all of several elements are equal, or nearly so: a constant would pass."""
    if is_exact(tensor.dtype) or tensor.is_complex() or tensor.numel() < 2:
        return False
    if is_float8(tensor.dtype):
        tensor = tensor.float()
    least, largest = (float(value) for value in tensor.aminmax())
    return largest - least <= limits.UNCHANGED_SPREAD * max(abs(least), abs(largest))
