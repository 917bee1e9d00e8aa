"""Compares one answer with the reference's, and says whether it is right, wrong, or decides nothing."""

from collections.abc import Sequence
from typing import Any

import torch

from evaluator.diagnosis.rules.output_rules import OF_VALUES, WRONG_OUTPUTS
from evaluator.judge import limits
from evaluator.judge.correctness.compare import Comparison, KnownErrors, OutputPiece, Rules
from evaluator.judge.correctness.errors.variants.overflows import overflow
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.correctness.oracle.rounding import explained_by_rounding, otherwise_rounded
from evaluator.judge.correctness.outcome import Outcome, Right, Wrong
from evaluator.judge.correctness.row_sampling import Sample
from evaluator.judge.correctness.tolerance import is_exact
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category
from evaluator.results.distributions import OWN, Rule
from evaluator.results.evidence import ErrorFigures, LeftOutBy
from evaluator.worker.nested import mapped, tensors, tensors_of

BY_ROUNDING = (Category.WRONG_VALUES, Category.PRECISION_LOSS)
"""Categories of an answer that may be wrong by rounding alone."""


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
) -> Right | Wrong:
    """Compare an answer of this form with the oracle; with `sample`, `candidate` holds only these rows of it.

    `pattern` is the byte that filled the worker's free memory. If only gross errors decide, an answer within the tolerance of the
    reference's passes without the oracle. brief: do not describe a wrong answer. Raises ReferenceFailedError.
    """
    if sample is not None:
        arguments = mapped(list(arguments), sample.of)
    for position in range(len(candidate)):
        candidate[position] = candidate[position].contiguous()  # replace it: memory may not suffice for both
    rules = Rules(case.rows_independent, case.problem.declaration.tolerance, oracle.terms, rule)
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
            return Right(figures=tuple(comparison.figures().model_copy(update=of_reference) for comparison in comparisons))
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
    right = Right(
        figures=figures,
        informative=any(comparisons[number].informative for number in failed) if failed else all(each.informative for each in comparisons),
        accepts_zeros=any(each.accepts_zeros for each in comparisons),
        known=tuple(each.known for each in comparisons),
    )
    if not failed:
        return right
    number = min(failed, key=lambda number: (WRONG_OUTPUTS.index(comparisons[number].category), number))
    category, message = comparisons[number].category, describe_error(figures[number], sample)
    unwritten = comparisons[number].unwritten
    if unwritten and unwritten * 2 >= figures[number].wrong:
        category = Category.UNWRITTEN_OUTPUT
        message = f"{unwritten} {'element was' if unwritten == 1 else 'elements were'} never written: {message}"
    return right.as_wrong(category, message)


def uncertain_outputs(case: ProblemCase, oracle: Oracle, arguments: Sequence[Any]) -> dict[int, float]:
    """The numbers of the outputs on which rounding decides for these inputs, with the largest error of a reference that rounds at random:
    the reference itself may be right by chance. Raises ReferenceFailedError."""
    named = list(tensors_of(oracle.expected(arguments)))
    outputs = otherwise_rounded(oracle, arguments, [tensor for _, tensor in named])
    rules = Rules(case.rows_independent, case.problem.declaration.tolerance, oracle.terms)
    comparisons = [Comparison(name, tensor.shape, tensor.dtype, rules) for name, tensor in named]
    if oracle.is_sliced(arguments, outputs):
        for number, part in oracle.wide_pieces(arguments, outputs):
            comparisons[number].weigh(part)
    for number, piece in oracle.pieces(arguments, outputs, outputs):
        comparisons[number].measure(piece)
        comparisons[number].count_far(piece)
    return {number: comparison.max_error for number, comparison in enumerate(comparisons) if comparison.is_uncertain}


def decided(
    case: ProblemCase,
    oracle: Oracle,
    outcome: Right | Wrong,
    candidate: list[torch.Tensor],
    draw: Draw,
    *,
    sample: Sample | None = None,
    asks_rounding: bool = False,
) -> Outcome:
    """The outcome for a draw, or LeftOut where it decides nothing. `candidate` and `sample` are as in `judge_values`.

    Changed inputs decide nothing where the reference is not accurate, or where a formula of the submission overflows: it is fragile, not
    wrong. asks_rounding: nor do the problem's own where rounding decides. Raises ReferenceFailedError.
    """
    if draw.distribution == OWN:
        if not (asks_rounding and _is_by_rounding(case, oracle, outcome, draw.arguments)):
            return outcome
        oracle.is_uncertain = True
        error = max(oracle.uncertain.values())
        message = f"rounded otherwise, the reference differs from its float64 form by {error:.2g} times its magnitude"
        return outcome.as_left_out(LeftOutBy.ROUNDING, message)
    if isinstance(outcome, Wrong) and draw.rule.is_gross:
        given = draw.arguments if sample is None else mapped(draw.arguments, sample.of)
        if formula := overflowing(oracle, outcome, candidate, given):
            return outcome.as_left_out(LeftOutBy.OVERFLOW, f"here {formula} overflows")
    if draw.rule is Rule.FINITE and isinstance(outcome, Right) and outcome.overflows:
        return outcome.as_left_out(LeftOutBy.OVERFLOW, "here the output overflows")
    return outcome if outcome.informative else outcome.as_left_out(LeftOutBy.INACCURATE, "here the reference itself is not accurate")


def _is_by_rounding(case: ProblemCase, oracle: Oracle, outcome: Right | Wrong, arguments: Sequence[Any]) -> bool:
    """Whether rounding decides on an output of the reference, and on each one that is wrong."""
    if isinstance(outcome, Wrong) and (
        outcome.category not in BY_ROUNDING or not outcome.beyond or outcome.overflows or outcome.informative
    ):
        return False
    if not oracle.uncertain and (isinstance(outcome, Wrong) or outcome.accepts_zeros):
        oracle.uncertain = uncertain_outputs(case, oracle, arguments)
    return bool(oracle.uncertain) and outcome.beyond <= oracle.uncertain.keys()


def overflowing(oracle: Oracle, wrong: Wrong, candidate: list[torch.Tensor], arguments: Sequence[Any]) -> str:
    """The formula with which every wrong output equals the reference until it overflows; empty if there is none."""
    wide = oracle.wide_model
    numbers = [number for number, figures in enumerate(wrong.figures) if figures.wrong]
    if wrong.category not in OF_VALUES or not (numbers and candidate) or wide is None:  # a sum that overflows gives 0
        return ""
    found = [overflow(wide, arguments, candidate, number, wrong.figures[number].tolerance) for number in numbers]
    return found[0] if all(found) else ""


def learn(oracle: Oracle, outcome: Outcome) -> None:
    """Keep what an answer showed of the reference's errors on inputs like the problem's own."""
    if outcome.known:
        oracle.known_errors = outcome.known


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
    expected = tensors(oracle.expected(arguments))
    rules = Rules(case.rows_independent, case.problem.declaration.tolerance, oracle.terms)
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
