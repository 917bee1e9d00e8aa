"""Compares one answer with the reference's: its category, a message, and the error figures of each output."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.diagnosis.rules.output_rules import OF_VALUES, WRONG_OUTPUTS
from evaluator.judge import limits
from evaluator.judge.correctness.compare import Comparison, KnownErrors, OutputPiece, Rules
from evaluator.judge.correctness.errors.variants.overflows import overflow
from evaluator.judge.correctness.reference import Oracle
from evaluator.judge.correctness.rounding import explained_by_rounding, otherwise_rounded
from evaluator.judge.correctness.row_sampling import Sample
from evaluator.judge.correctness.tolerance import is_exact
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category
from evaluator.results.distributions import Rule
from evaluator.results.evidence import ErrorFigures
from evaluator.worker.nested import mapped, tensors_of

OVERFLOWS = " overflows"
"""The end of the message of a round that is left out because of the submission's output."""
INACCURATE = "here the reference itself is not accurate"
"""Why a round on changed inputs is left out, too."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on one answer."""

    category: Category | None
    message: str
    figures: tuple[ErrorFigures, ...] = ()
    informative: bool = True
    """Whether the reference was accurate enough here to judge by."""
    accepts_zeros: bool = False
    """Whether the reference errs so much at an element of an output that zeros pass there."""
    known: tuple[KnownErrors, ...] = ()
    """What was learnt of the reference's errors, for each output."""

    @property
    def wrong(self) -> set[int]:
        """Numbers of the outputs that are wrong by the tolerance."""
        return {number for number, figures in enumerate(self.figures) if figures.max_error > figures.tolerance}

    @property
    def overflows(self) -> bool:
        """Whether an element is NaN or infinite and the right one is not, or the other way round."""
        return any(figures.nonfinite_mismatch for figures in self.figures)


def judge_values(
    case: ProblemCase,
    oracle: Oracle,
    arguments: Sequence[Any],
    candidate: list[torch.Tensor],
    form: Any,
    pattern: int | None = None,
    sample: Sample | None = None,
    *,
    rule: Rule = Rule.TOLERANCE,
    brief: bool = False,
) -> Judgement:
    """Compare an answer of this form with the oracle; with `sample`, `candidate` holds only these rows of it.

    `pattern` is the byte that filled the worker's free memory. If only gross errors decide, an answer within the tolerance of the
    reference's passes without the oracle. brief: do not describe a wrong answer. Raises ReferenceFailedError.
    """
    if sample is not None:
        arguments = mapped(list(arguments), sample.of)
    for position in range(len(candidate)):
        candidate[position] = candidate[position].contiguous()  # replace it: memory may not suffice for both
    rules = Rules(case.rows_independent, case.tolerance, oracle.terms, rule)
    known = (not rule.is_gross and oracle.known_errors) or [KnownErrors()] * len(candidate)
    compared = [
        (name, tensor.shape, tensor.dtype, rules, errors)
        for (name, _), tensor, errors in zip(tensors_of(form), candidate, known, strict=True)
    ]
    if rule.is_gross:
        comparisons = [Comparison(*each) for each in compared]
        measure(oracle, arguments, candidate, comparisons, by_reference=True)
        if not any(comparison.needs_location for comparison in comparisons):
            of_reference = {"reference_error": None}  # it was not compared with the oracle
            return Judgement(None, "", tuple(comparison.figures().model_copy(update=of_reference) for comparison in comparisons))
    comparisons = [Comparison(*each) for each in compared]
    measure(oracle, arguments, candidate, comparisons)
    wrong = {number for number, comparison in enumerate(comparisons) if comparison.needs_location}
    for number in explained_by_rounding(oracle, arguments, candidate, comparisons) if wrong else ():
        comparisons[number].excuse()
    located = {number for number, comparison in enumerate(comparisons) if comparison.needs_location}
    if located and (rule.is_gross or not brief):
        for number, piece in oracle.pieces(arguments, candidate):
            if number in located:
                comparisons[number].locate(piece, counts_only=brief, pattern=pattern)
    failed = {number for number in located if not comparisons[number].passed}
    figures = tuple(comparison.figures() for comparison in comparisons)
    told = (
        figures,
        all(each.informative for each in comparisons),
        any(each.accepts_zeros for each in comparisons),
        tuple(each.known for each in comparisons),
    )
    if not failed:
        return Judgement(None, "", *told)
    number = min(failed, key=lambda number: (WRONG_OUTPUTS.index(comparisons[number].category), number))
    category, message = comparisons[number].category, describe_error(figures[number], sample)
    unwritten = comparisons[number].unwritten
    if unwritten and unwritten * 2 >= figures[number].wrong:
        category = Category.UNWRITTEN_OUTPUT
        message = f"{unwritten} {'element was' if unwritten == 1 else 'elements were'} never written: {message}"
    return Judgement(category, message, *told)


def uncertain_outputs(case: ProblemCase, oracle: Oracle, arguments: Sequence[Any]) -> dict[int, float]:
    """The numbers of the outputs on which rounding decides for these inputs, with the largest error of a reference that rounds at random:
    the reference itself may be right by chance. Raises ReferenceFailedError."""
    named = list(tensors_of(oracle.expected(arguments)))
    outputs = otherwise_rounded(oracle, arguments, [tensor for _, tensor in named])
    rules = Rules(case.rows_independent, case.tolerance, oracle.terms)
    comparisons = [Comparison(name, tensor.shape, tensor.dtype, rules) for name, tensor in named]
    if oracle.is_sliced(arguments, outputs):
        for number, part in oracle.wide_pieces(arguments, outputs):
            comparisons[number].weigh(part)
    for number, piece in oracle.pieces(arguments, outputs, outputs):
        comparisons[number].measure(piece)
        comparisons[number].count_far(piece)
    return {number: comparison.max_error for number, comparison in enumerate(comparisons) if comparison.is_uncertain}


def overflowing(oracle: Oracle, judged: Judgement, candidate: list[torch.Tensor], arguments: Sequence[Any]) -> str:
    """The formula with which every wrong output equals the reference until it overflows; empty if there is none."""
    wide = oracle.wide_model
    wrong = [number for number, figures in enumerate(judged.figures) if figures.wrong]
    if judged.category not in OF_VALUES or not (wrong and candidate) or wide is None:  # a sum that overflows gives 0
        return ""
    found = [overflow(wide, arguments, candidate, number, judged.figures[number].tolerance) for number in wrong]
    return found[0] if all(found) else ""


def learn(oracle: Oracle, judged: Judgement) -> None:
    """Keep what an answer showed of the reference's errors on inputs like the problem's own."""
    if judged.known:
        oracle.known_errors = judged.known


def why_undecided(oracle: Oracle, judged: Judgement, candidate: list[torch.Tensor], arguments: Sequence[Any], rule: Rule) -> str:
    """Why an answer on inputs that were changed soundly decides nothing; empty if it decides."""
    if formula := overflowing(oracle, judged, candidate, arguments):  # it is fragile, not wrong
        return f"here {formula}{OVERFLOWS}"
    if rule is Rule.FINITE and judged.category is None and judged.overflows:
        return f"here the output{OVERFLOWS}"
    return "" if judged.informative else INACCURATE


def is_near_reference(
    case: ProblemCase, oracle: Oracle, arguments: Sequence[Any], candidate: list[torch.Tensor], form: Any, sample: Sample | None = None
) -> bool:
    """Whether an answer is so near to the reference's that the oracle would also accept it. The oracle takes ten times as long.

    If False, ask the oracle. `candidate` and `sample` are as in `judge_values`. Raises ReferenceFailedError.
    """
    if oracle.is_uncertain:
        return True
    if not oracle.known_errors or oracle.is_sliced(arguments, candidate):
        return False
    if sample is not None:
        arguments = mapped(list(arguments), sample.of)
    expected = [tensor for _, tensor in tensors_of(oracle.expected(arguments))]
    rules = Rules(case.rows_independent, case.tolerance, oracle.terms)
    for (name, _), value, right, errors in zip(tensors_of(form), candidate, expected, oracle.known_errors, strict=True):
        if is_exact(value.dtype):
            if not torch.equal(value, right):
                return False
            continue
        comparison = Comparison(name, value.shape, value.dtype, rules)
        comparison.measure(OutputPiece(0, value.contiguous(), right, right))
        if comparison.max_error > errors.tolerance - limits.REFERENCE_ERRORS * errors.reference_error:
            return False
    return True


def measure(
    oracle: Oracle,
    arguments: Sequence[Any],
    candidate: Sequence[torch.Tensor],
    comparisons: Sequence[Comparison],
    *,
    by_reference: bool = False,
) -> None:
    """Find the errors of all outputs, against the oracle or against the reference. Raises ReferenceFailedError."""
    if oracle.is_sliced(arguments, candidate):
        for number, part in oracle.wide_pieces(arguments, candidate, by_reference=by_reference):
            comparisons[number].weigh(part)
    for number, piece in oracle.pieces(arguments, candidate, by_reference=by_reference):
        comparisons[number].measure(piece)


def describe_error(figures: ErrorFigures, sample: Sample | None = None) -> str:
    """The error figures of one wrong output, or of a sample of its rows, in a sentence."""
    where = f"output{figures.output}" if figures.output else "the output"
    if not figures.wrong:
        return f"{where} is wrong; largest relative error {figures.max_error:.3g}, allowed {figures.tolerance:.3g}"
    rows = f"{len(sample)} rows of " if sample else ""
    text = f"{figures.wrong} of {figures.elements} elements of {rows}{where} are wrong"
    if figures.pattern:
        text += f" ({figures.pattern})"
    if figures.likeness:
        text += f", {figures.likeness}"
    if figures.first_index is not None:
        index = ", ".join(map(str, sample.original(figures.first_index) if sample else figures.first_index))
        text += f"; first at ({index}): {figures.first_value:.6g}, expected {figures.first_expected:.6g}"
    if figures.gross_error is not None:
        return f"{text}; largest error is {figures.gross_error:.3g} × the spread of the right values"
    return f"{text}; largest relative error {figures.max_error:.3g}, allowed {figures.tolerance:.3g}"
