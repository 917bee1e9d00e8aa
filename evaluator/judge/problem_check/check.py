"""Checks whether a problem is fit to judge submissions: it compares trivial answers like a submission's.

The inputs are those of a submission's rounds (evaluator.judge.correctness.inputs.round_inputs), and so are the tolerances. A problem is
refused if a trivial answer passes as any of its outputs, if its inputs or outputs do not change with the seed, or if its reference is not a
function of its inputs alone (random, not finite, or changing its inputs). It is also refused if it declares an impossible floor, or one
that the reference itself beats.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from typing import Any

import torch

from evaluator.diagnosis import LEAST_FLOOR_MS
from evaluator.judge import limits
from evaluator.judge.correctness.compare import Comparison, OutputPiece, Rules
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.round_inputs import RoundInputs, RoundPlan
from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.judge.correctness.output_structure import described
from evaluator.judge.correctness.tolerance import is_exact
from evaluator.judge.problem_check.check_result import CHECKS, Finding, ProblemCheck
from evaluator.judge.problem_check.disguises import disguise_findings
from evaluator.judge.problem_check.fewer_rows import with_fewer_rows
from evaluator.judge.problem_check.trivial_answers import ANSWERS, Known, Part
from evaluator.judge.roofline.demand import demand_of
from evaluator.judge.roofline.minimum_time import floor_peaks, minimum_time_of
from evaluator.judge.roofline.peaks import best_s, cache_bytes
from evaluator.problem.execute import ProblemError
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import VARYING, ProblemCase
from evaluator.results.distributions import DISTRIBUTIONS, OWN
from evaluator.results.evidence import FloorEvidence
from evaluator.worker.nested import tensors, tensors_of

BEGINNING_ELEMENTS = 1 << 20

OUT_OF_MEMORY = (torch.OutOfMemoryError, MemoryError)


@dataclass(frozen=True, kw_only=True)
class _Answered(Draw):
    """Random inputs, and the reference's output."""

    names: list[str]
    outputs: list[torch.Tensor]
    """The reference's output tensors, in its own dtype."""


class _Refused(Exception):  # noqa: N818
    """A finding after which nothing more can be checked."""

    def __init__(self, check: str, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(check, "", message)


def check_case(case: ProblemCase, device: torch.device) -> ProblemCheck:
    """Check one case. Memory and time are a few times those of one round of a submission.

    Raises torch.OutOfMemoryError or MemoryError if the device has too little memory, which is not the problem's fault.
    """
    findings: tuple[Finding, ...]
    check: _Check | None = None
    try:
        if device.type == "cpu":
            case = with_fewer_rows(case)
        check = _Check(case, device)
        findings = tuple(check.findings())
    except _Refused as refused:
        findings = (refused.finding,)
    except (ReferenceFailedError, ProblemError) as error:
        if isinstance(error.__cause__, OUT_OF_MEMORY):
            raise error.__cause__ from error
        findings = (Finding("runs", "", str(error)),)
    result = ProblemCheck(case.problem.name, case.name, str(device), findings, precision=case.dtype_name)
    return result if check is None else check.described(result)


def floor_finding(floor: FloorEvidence, reference_ms: float) -> Finding | None:
    """The finding if the reference takes less time than the problem's floor; else None."""
    if floor.floor_ms < LEAST_FLOOR_MS or reference_ms >= floor.floor_ms:
        return None
    message = f"the reference takes {reference_ms:.4g} ms, less than the floor of {floor.floor_ms:.4g} ms: the floor counts too much"
    return Finding("floor", "", message)


def trivial_answers_to(case: ProblemCase, oracle: Oracle, device: torch.device, answers: Sequence[str]) -> tuple[str, ...]:
    """The trivial answers among these that pass in a case. Nothing else is checked.

    Raises ReferenceFailedError, ProblemError, torch.OutOfMemoryError and MemoryError.
    """
    return _Check(case, device, oracle).passing_of(answers)


class _Check:
    def __init__(self, case: ProblemCase, device: torch.device, oracle: Oracle | None = None) -> None:
        self._case, self._device = case, device
        self._oracle = oracle or Oracle(case.model(fresh_seed(), device), case.rows_independent)
        self._model = self._oracle.model
        self._times_ms: tuple[float | None, float | None] = (None, None)
        """The floor and the reference's time; None before they are measured."""
        self._first: _Answered | None = None
        self._distributions: tuple[str, ...] = ()

    def findings(self) -> Iterator[Finding]:
        """Yield all findings. Raises _Refused, ReferenceFailedError, ProblemError."""
        first = self._first = self._answered(self._own())
        self._check_inputs(first, fresh_seed())
        self._check_finite(first)
        self._check_deterministic(first)
        yield from self._floor(first)
        round_inputs = RoundInputs(self._case, self._device, self._oracle)
        round_inputs.forget()
        plans = _plans(round_inputs)
        each = {plan.distribution: plan for plan in plans if not DISTRIBUTIONS[plan.distribution].few}
        self._distributions = tuple(each)
        trivial = _Trivial.beginning(first, list(ANSWERS))
        for plan in each.values():
            plans.remove(plan)
            draw = self._draw(round_inputs, plan)
            if draw is not None:
                self._check_own_answer(draw, self._offer(draw, trivial))
        if self._case.problem.declaration.compute:
            draws = (self._answered(self._own()) for _ in range(limits.ROUNDS))
            yield from disguise_findings(self._oracle, ((draw.arguments, draw.outputs, partial(self._comparisons, draw)) for draw in draws))
        self._offer_with(round_inputs, plans, trivial)
        for answer, number in trivial.alive:
            yield Finding("trivial_answer", answer, f"{answer} passes as {_named(first.names[number])}: {ANSWERS[answer].meaning}")

    def passing_of(self, answers: Sequence[str]) -> tuple[str, ...]:
        """Names of those that pass as an output with all inputs."""
        first = self._first = self._answered(self._own())
        round_inputs = RoundInputs(self._case, self._device, self._oracle)
        round_inputs.forget()
        trivial = _Trivial.beginning(first, answers)
        self._offer_with(round_inputs, _plans(round_inputs), trivial)
        return tuple(dict.fromkeys(answer for answer, _ in trivial.alive))

    def described(self, result: ProblemCheck) -> ProblemCheck:
        """The result, with the facts observed so far."""
        checks = [name for name in CHECKS if name != "compute" or self._case.problem.declaration.compute]
        failed = [checks.index(finding.check) for finding in result.findings]
        draw = self._first
        return replace(
            result,
            floor_ms=self._times_ms[0],
            reference_ms=self._times_ms[1],
            inputs=tuple(described(tensor) for tensor in tensors(draw.arguments)) if draw else (),
            outputs=tuple(described(tensor) for tensor in draw.outputs) if draw else (),
            distributions=self._distributions,
            passed=tuple(checks[: min(failed, default=len(checks))]),
        )

    def _draw(self, round_inputs: RoundInputs, plan: RoundPlan) -> _Answered | None:
        """Random inputs and the reference's output; None if no submission is judged with them. Raises _Refused if its shapes change."""
        drawn = round_inputs.draw(plan)
        if drawn.left_out:
            return None
        draw, first = self._answered(drawn), self._first
        if first is not None and [tensor.shape for tensor in draw.outputs] != [tensor.shape for tensor in first.outputs]:
            raise _Refused("output", "the shapes of the output change with the inputs' values")
        return draw

    def _own(self) -> Draw:
        """The problem's own inputs."""
        seed = fresh_seed()
        return Draw(seed, self._case.inputs(seed, self._device))

    def _answered(self, drawn: Draw) -> _Answered:
        try:
            named = list(tensors_of(self._oracle.expected(drawn.arguments)))
        except ReferenceFailedError as error:
            if drawn.distribution == OWN or isinstance(error.__cause__, OUT_OF_MEMORY):
                raise
            raise _Refused("runs", f"{error}, on inputs of the {_advice(drawn.distribution)}") from error
        if not any(tensor.numel() for _, tensor in named):
            raise _Refused("output", "the reference returns no tensor, or only empty ones")
        # The output may be a view of its input, or memory that the reference keeps and fills again.
        return _Answered(**vars(drawn), names=[name for name, _ in named], outputs=[tensor.clone() for _, tensor in named])

    def _check_inputs(self, first: _Answered, second_seed: int) -> None:
        """Raises _Refused if the seed does not determine the inputs, or if the reference, which had the first ones, changes them."""
        given = first.arguments
        if self._case.stored:
            given = self._case.inputs(first.seed, self._device, with_files=False)
            self._oracle.expected(given)
        again, second = (self._case.inputs(seed, self._device, with_files=False) for seed in (first.seed, second_seed))
        if not tensors(given):
            raise _Refused("inputs", "get_inputs() returns no tensor")
        if _same(again, second):
            raise _Refused("inputs", "two seeds give the same inputs")
        if not _same(again, given):
            if _same(again, self._case.inputs(first.seed, self._device, with_files=False)):
                raise _Refused("inputs", "the reference changes its inputs")
            raise _Refused("inputs", "the same seed gives different inputs; use only the random generators of torch, numpy or random")
        if self._case.varies_stored:
            self._check_varied(first.seed, second_seed)

    def _check_varied(self, first_seed: int, second_seed: int) -> None:
        """Raises _Refused if the seed does not determine inputs from files, or if no seed changes them."""
        drawn = (self._case.inputs(seed, self._device) for seed in (first_seed, first_seed, second_seed))
        first, again, second = ([arguments[position] for position in self._case.stored] for arguments in drawn)
        if not _same(first, again):
            raise _Refused("inputs", f"{VARYING}() changes inputs differently for the same seed; use only torch's random generators")
        if _same(first, second):
            raise _Refused("inputs", f"{VARYING}() leaves the inputs from files as they are; give them another order")

    @staticmethod
    def _check_finite(draw: _Answered) -> None:
        for name, tensor in zip(draw.names, draw.outputs, strict=True):
            bad = int((~_wide(tensor).isfinite()).sum())
            if bad:
                raise _Refused("finite", f"{bad} of {tensor.numel()} elements of {_named(name)} are NaN or infinite")

    def _check_deterministic(self, draw: _Answered) -> None:
        """Raises _Refused if two outputs for the same inputs differ by more than the tolerance."""
        again = tensors(self._oracle.expected(draw.arguments))
        if [tensor.shape for tensor in again] != [tensor.shape for tensor in draw.outputs]:
            raise _Refused("deterministic", "the reference's outputs for the same inputs differ in shape")
        for name, comparison, first, second in zip(draw.names, self._comparisons(draw), draw.outputs, again, strict=True):
            if _equal(first, second):
                continue
            # The first output replaces the oracle's, which would be a third one.
            comparison.measure(OutputPiece(0, second, first, _wide(first)))
            if not comparison.passed:
                error = comparison.figures().max_error
                raise _Refused("deterministic", f"the reference's outputs for the same inputs differ in {_named(name)} by {error:.3g}")

    def _floor(self, draw: _Answered) -> Iterator[Finding]:
        """A finding if the reference is faster than the floor. Raises _Refused if the declared floor is impossible."""
        try:
            demand = demand_of(self._case, self._model, self._oracle, draw.arguments)
        except ProblemError as error:
            raise _Refused("floor", error.rule) from error
        if self._device.type != "cuda":
            return
        reference_ms = best_s(lambda: self._oracle.expected(draw.arguments), self._device, limits.FASTEST_OF) * 1e3
        floor = minimum_time_of(demand, floor_peaks(self._device, again=True), cache_bytes(self._device))
        self._times_ms = (floor.floor_ms, reference_ms)
        finding = floor_finding(floor, reference_ms)
        if finding is not None:
            yield finding

    def _check_own_answer(self, draw: _Answered, comparisons: Sequence[Comparison]) -> None:
        """Raises _Refused if the reference's own output would be judged wrong: then any output in its dtype would be."""
        if draw.distribution != OWN and not all(comparison.informative for comparison in comparisons):
            return  # no submission is judged with these inputs
        for name, comparison, output in zip(draw.names, comparisons, draw.outputs, strict=True):
            if comparison.needs_location or (is_exact(output.dtype) and not comparison.informative):
                wrong = f"{_named(name)} of the reference itself is {comparison.category}"
                raise _Refused("oracle", f"{wrong} against its float64 form, on inputs of the {_advice(draw.distribution)}")

    def _offer_with(self, round_inputs: RoundInputs, plans: Sequence[RoundPlan], trivial: "_Trivial") -> None:
        """Offer the trivial answers with all of these inputs, until none is left."""
        for plan in plans:
            draw = self._draw(round_inputs, plan) if trivial.alive else None
            if draw is not None:
                self._offer(draw, trivial)

    def _offer(self, draw: _Answered, trivial: "_Trivial") -> list[Comparison]:
        """Drop the trivial answers that fail with these inputs. Returns the comparisons of the reference's own output."""
        alive, previous = trivial.alive, trivial.previous
        trivial.previous = draw.outputs
        offered: list[_Offer] = []
        passing: list[tuple[str, int]] = []
        for pair in alive:
            answer, number = pair
            part = ANSWERS[answer].make(Known(draw.arguments, draw.outputs[number], previous[number]))
            if part is not None:
                offered.append(_Offer(pair, part, self._comparisons(draw)[number]))
            elif draw.distribution != OWN:
                passing.append(pair)  # for example rounding of already rounded values: here it is the right answer
        right = self._comparisons(draw)
        is_sliced = self._oracle.is_sliced(draw.arguments, draw.outputs)
        if is_sliced:
            for number, oracle in self._oracle.wide_pieces(draw.arguments, draw.outputs):
                right[number].weigh(oracle)
        # Chunks of rows are computed again: they differ from the whole if rows are not independent.
        again = None if self._case.rows_independent else draw.outputs
        for number, piece in self._oracle.pieces(draw.arguments, draw.outputs, again):
            if not is_sliced:
                right[number].weigh(piece.oracle)
            right[number].measure(piece)
            beginning = _beginning(piece)
            for offer in [offer for offer in offered if offer.pair[1] == number]:
                offer.comparison.weigh_as(right[number])
                if offer.comparison.is_hopeless(replace(beginning, candidate=offer.part(beginning)), right[number].tolerance):
                    offered.remove(offer)
                else:
                    offer.comparison.measure(replace(piece, candidate=offer.part(piece)))
        if draw.distribution != OWN and not all(comparison.informative for comparison in right):
            return right  # a submission isn't judged with these inputs either
        if draw.rule.is_gross:
            self._locate(draw, [offer for offer in offered if offer.comparison.needs_location])
        passed = {*passing, *(offer.pair for offer in offered if offer.comparison.passed)}
        trivial.alive = [pair for pair in alive if pair in passed]
        return right

    def _locate(self, draw: _Answered, offered: Sequence["_Offer"]) -> None:
        """Find out whether errors beyond the tolerance are gross."""
        for number, piece in self._oracle.pieces(draw.arguments, draw.outputs, draw.outputs) if offered else ():
            for offer in offered:
                if offer.pair[1] == number:
                    offer.comparison.locate(replace(piece, candidate=offer.part(piece)), counts_only=True)

    def _comparisons(self, draw: _Answered) -> list[Comparison]:
        rules = Rules(self._case.rows_independent, self._case.problem.declaration.tolerance, self._oracle.terms, draw.rule)
        return [Comparison(name, tensor.shape, tensor.dtype, rules) for name, tensor in zip(draw.names, draw.outputs, strict=True)]


@dataclass
class _Trivial:
    """The trivial answers that passed so far."""

    previous: Sequence[torch.Tensor]
    """The reference's output tensors with the previous inputs."""
    alive: list[tuple[str, int]]
    """Pairs of an answer and the number of an output, in the order of reports."""

    @classmethod
    def beginning(cls, first: _Answered, answers: Sequence[str]) -> "_Trivial":
        """All of these answers to every output."""
        return cls(first.outputs, [(answer, number) for number, tensor in enumerate(first.outputs) if tensor.numel() for answer in answers])


@dataclass(frozen=True)
class _Offer:
    """The comparison of a trivial answer with one of the outputs."""

    pair: tuple[str, int]
    part: Part
    comparison: Comparison


def _plans(round_inputs: RoundInputs) -> list[RoundPlan]:
    """The inputs with which a trivial answer must pass: those of the rounds, again and again."""
    return list(islice(cycle(round_inputs.plans), limits.DRAWS))


def _beginning(piece: OutputPiece) -> OutputPiece:
    """The first rows of a piece: most trivial answers are wrong there already."""
    if not piece.reference.dim():
        return piece
    rows = slice(max(BEGINNING_ELEMENTS * len(piece.reference) // max(piece.reference.numel(), 1), 1))
    return OutputPiece(piece.start, piece.candidate[rows], piece.reference[rows], piece.oracle[rows])


def _same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether all tensors in two nested values are equal, NaN for NaN."""
    pairs = zip(tensors(list(left)), tensors(list(right)), strict=True)
    return all(one.shape == other.shape and _equal(one, other) for one, other in pairs)


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.itemsize == 1:
        return torch.equal(one.view(torch.uint8), other.view(torch.uint8))
    return bool(((one == other) | (one.isnan() & other.isnan())).all()) if not is_exact(one.dtype) else torch.equal(one, other)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    if is_exact(tensor.dtype):
        return tensor
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _advice(distribution: str) -> str:
    name = f"distribution {distribution!r}"
    return name if distribution == OWN else f"{name}, which the problem can exclude by `without`"


def _named(name: str) -> str:
    return f"output{name}" if name else "the output"
