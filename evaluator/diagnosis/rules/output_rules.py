"""Rules over wrong answers, in a round or in other shapes, and what the figures of a failed round suggest."""

import re
from typing import Literal

from evaluator.diagnosis.own_parameters import unlike_the_references
from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.verdict import Verdict
from evaluator.results.category import Category
from evaluator.results.evidence import ErrorFigures, Evidence, RoundEvidence

WRONG_OUTPUTS = (
    *(Category.MUTATED_INPUT, Category.WRONG_STRUCTURE, Category.WRONG_DEVICE, Category.WRONG_SHAPE, Category.WRONG_DTYPE),
    *(Category.UNWRITTEN_OUTPUT, Category.NONDETERMINISTIC, Category.NAN_OR_INF, Category.WRONG_VALUES, Category.PRECISION_LOSS),
)
"""What a round fails by. Of several outputs that are wrong, the round is named after the first category in this order."""
OF_VALUES = (Category.WRONG_VALUES, Category.PRECISION_LOSS, Category.NAN_OR_INF)
"""Of these, what an answer fails by whose values alone are wrong."""
ROUNDING_ERROR = 1e-2
"""The largest error that rounding makes; larger ones are mistakes."""
NARROW_PRODUCT_ERROR = 2e-4
"""Products of numbers with 10 bits of mantissa (float16, TF32) err by about 2**-11 or more, approximate functions and long sums by less."""
ENORMOUS_ERROR = 1e6

SUSPICIONS = {
    "signs": "here every sign is drawn anew: a kernel that holds for positive inputs alone, or forgets a negative branch, fails",
    "scaled": "here rows are multiplied by numbers from -4 to 4: a formula for the drawn range alone, or a forgotten bound, fails",
    "rows": "here a few rows of an own draw are smaller: what is right for what the problem draws alone, and told by some values, fails",
    "runs": "here a few elements of the inputs before are others, at the same address: what was kept of these fails",
    "wide": "here magnitudes span six decades: a narrow accumulator, or a formula that cancels, fails",
    "ties": "here many inputs are equal",
    "shifted": "here 100 is added to the inputs (float16: 12): what cancels large numbers, such as E[x²] - E[x]², fails",
    "special": "here rows are all zeros, constant, ascending, or with one large element: divisions by zero and wrong initial values show",
}
"""What it suggests that an answer is wrong on this distribution and right on the earlier ones, by the names of
evaluator.judge.correctness.inputs.input_distributions."""
OVERFLOW = "here inputs are as large as 100 (float16: 12), where exp() overflows: subtract the row's maximum before exp()"
UNINITIALISED_TAIL = "like an uninitialised tail: what is left of the last block or vector is computed by nobody"
COMPUTE_THE_TAIL = {"cuda": "round the grid up, with a bound check", "cpu": "let the loop go on to the end"}
NARROW_PRODUCTS = {
    "cuda": "half precision or TF32 in products or in the accumulator, or an approximate formula",
    "cpu": "half precision in products or in the accumulator, or an approximate formula",
}
APPROXIMATIONS = {
    "cuda": "fast-math functions (__expf, --use_fast_math), an approximate formula, or a long sum in float32",
    "cpu": "an approximate formula, fast-math (-ffast-math), or a long sum in float32",
}
"""What errors of a size suggest, by the kind of the device: only what it has. A device that is not known counts as a GPU."""
_TAIL = re.compile(r"^a tail of |: the last \d|(?:columns|rows) the last \d")
"""Patterns (evaluator.judge.correctness.errors.pattern) that end where the output, its rows or its columns do."""
OVERFLOWING = ("wide", "shifted")
"""Distributions with inputs for which exp() overflows."""


@rule(order=90, gives=WRONG_OUTPUTS)
def failed_round(evidence: Evidence) -> Verdict | None:
    """A round failed; the first one counts."""
    failed = next((round_ for round_ in evidence.rounds if not round_.passed), None)
    if failed is None or failed.category is None:
        return None
    where = "" if failed.distribution == "own" else f", distribution '{failed.distribution}'"
    if failed.cause:
        parts = [f"it equals {failed.cause}", failed.message]
    else:
        parts = [*other_parameters(evidence), failed.message, *suspicions(failed, evidence.device_kind)]
    message = "; ".join(parts)
    return Verdict(failed.category, f"round {failed.number}{where}: {message}")


@rule(order=180, gives=[Category.SHAPE_SPECIFIC])
def wrong_in_other_shapes(evidence: Evidence) -> Verdict | None:
    wrong = [shape for shape in evidence.shapes if shape.right is False]
    if not evidence.strict_shapes or not wrong:
        return None
    first = wrong[0]
    what = f"{first.category}: {first.message}" if first.category and first.message else str(first.category)
    inputs = f" ({'; '.join(first.inputs)})" if first.inputs else ""
    return Verdict(Category.SHAPE_SPECIFIC, f"wrong in the shapes {first.case!r}{inputs}: {what}"[:1000])


def other_parameters(evidence: Evidence) -> list[str]:
    """Where the first failed round has wrong values on the problem's own inputs, and what it equals is not known: in one sentence, which
    parameters have no counterpart among the reference's."""
    failed = next((round_ for round_ in evidence.rounds if not round_.passed), None)
    if failed is None or failed.cause or failed.distribution != "own" or failed.category not in OF_VALUES:
        return []
    said = unlike_the_references(evidence.parameters)
    return [said] if said else []


def suspicions(failed: RoundEvidence, device_kind: Literal["cpu", "cuda"] | None) -> list[str]:
    """What the distribution and the size of the errors suggest, each in words."""
    found = []
    kind = device_kind or "cuda"
    wrong = next((figures for figures in failed.outputs if figures.wrong), None)
    if wrong is not None and _is_left_as_it_was(wrong, failed.category):
        found.append(f"{UNINITIALISED_TAIL}; {COMPUTE_THE_TAIL[kind]}")
    elif wrong is not None and (size := _size(wrong, failed.category, kind)):
        found.append(size)
    if wrong is not None and wrong.nonfinite_mismatch and failed.distribution in OVERFLOWING:
        found.append(OVERFLOW)
    elif failed.distribution in SUSPICIONS and failed.category in OF_VALUES:
        found.append(SUSPICIONS[failed.distribution])
    return found


def _is_left_as_it_was(figures: ErrorFigures, category: Category | None) -> bool:
    """Whether only a tail is wrong, and holds what memory held before: the fill pattern, a single value, or enormous values."""
    if not _TAIL.search(figures.pattern):
        return False
    enormous = figures.max_error >= ENORMOUS_ERROR and not figures.nonfinite_mismatch
    return category is Category.UNWRITTEN_OUTPUT or enormous or figures.likeness.startswith("all of them are")


def _size(figures: ErrorFigures, category: Category | None, device_kind: Literal["cpu", "cuda"]) -> str:
    if figures.nonfinite_mismatch:
        return f"{figures.nonfinite_mismatch} are NaN or infinite where they should not be, or the other way round"
    if category is Category.PRECISION_LOSS or figures.max_error <= ROUNDING_ERROR:
        if "number of" in figures.likeness:
            return "the answer was rounded to half precision on its way"
        if "times what" in figures.likeness:
            return ""
        return f"possible causes: {(NARROW_PRODUCTS if figures.max_error >= NARROW_PRODUCT_ERROR else APPROXIMATIONS)[device_kind]}"
    if figures.max_error >= ENORMOUS_ERROR:
        return "possible cause: uninitialised or foreign memory"
    return ""
