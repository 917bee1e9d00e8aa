"""Rules for wrong answers, in a round or in other shapes, and possible causes: from the figures of a failed round, or from parameters
without a counterpart in the reference."""

import re
from difflib import SequenceMatcher
from typing import Literal

from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.verdict import Verdict
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.distributions import DISTRIBUTIONS
from evaluator.results.evidence import ErrorFigures, Evidence, ParametersEvidence, RoundEvidence

SHOWN = 3
"""Maximum number of parameters that are named."""
WRONG_OUTPUTS = (
    *(Category.MUTATED_INPUT, Category.WRONG_STRUCTURE, Category.WRONG_DEVICE, Category.WRONG_SHAPE, Category.WRONG_DTYPE),
    *(Category.UNWRITTEN_OUTPUT, Category.NONDETERMINISTIC, Category.NAN_OR_INF, Category.WRONG_VALUES, Category.PRECISION_LOSS),
)
"""Categories that fail a round, in order of priority: if several outputs are wrong, the first category counts."""
OF_VALUES = (Category.WRONG_VALUES, Category.PRECISION_LOSS, Category.NAN_OR_INF)
"""Those of WRONG_OUTPUTS that are about wrong values alone."""
ROUNDING_ERROR = 1e-2
"""Maximum error from rounding; larger errors are mistakes."""
NARROW_PRODUCT_ERROR = 2e-4
"""Minimum error of products with 10 bits of mantissa (float16, TF32: about 2**-11). Approximate functions and long sums err by less."""
ENORMOUS_ERROR = 1e6
FAR_ABOVE_RMS = 10.0
"""If the largest error is this many times the RMS error, few elements are to blame. Rounding all of them errs by at most 6 times that."""

OVERFLOW = "here inputs are as large as 100 (float16: 12), where exp() overflows: subtract the row's maximum before exp()"
UNINITIALISED_TAIL = "like an uninitialised tail: nothing computes the end of the last block or vector, or an index is wrong"
COMPUTE_THE_TAIL = {"cuda": "round the grid size up, and check bounds in the kernel", "cpu": "let the loop go on to the end"}
NARROW_PRODUCTS = {
    "cuda": "half precision or TF32 in products or in the accumulator, or an approximate formula",
    "cpu": "half precision in products or in the accumulator, or an approximate formula",
}
APPROXIMATIONS = {
    "cuda": "fast-math functions (__expf, --use_fast_math), an approximate formula, or a long sum in float32",
    "cpu": "an approximate formula, fast-math (-ffast-math), or a long sum in float32",
}
"""Possible causes of errors of a size, by the kind of device. An unknown device counts as a GPU."""
CANCELLATION = "cancellation, as in a variance by E[x²] - E[x]²"
"""Possible cause of errors of a few elements, beside APPROXIMATIONS."""
_TAIL = re.compile(r"^a tail of |: the last \d|(?:columns|rows) the last \d")
"""Matches patterns (evaluator.judge.correctness.errors.pattern) at the end of the output, its rows or its columns."""
PREVIOUS_OUTPUT = "the previous round's output, although the inputs differ"
"""The cause of a wrong output that was kept."""


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
    hint = CATEGORIES[Category.CACHED_OUTPUT].hint if failed.cause == PREVIOUS_OUTPUT else ""
    return Verdict(failed.category, f"round {failed.number}{where}: {message}", hint)


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
    """One sentence on parameters without a counterpart in the reference. Empty unless the first failed round has wrong values, without a
    known cause, on the problem's own inputs."""
    failed = next((round_ for round_ in evidence.rounds if not round_.passed), None)
    if failed is None or failed.cause or failed.distribution != "own" or failed.category not in OF_VALUES:
        return []
    said = unlike_the_references(evidence.parameters)
    return [said] if said else []


def suspicions(failed: RoundEvidence, device_kind: Literal["cpu", "cuda"] | None) -> list[str]:
    """Possible causes in words, from the distribution and from the size of the errors."""
    found = []
    kind = device_kind or "cuda"
    wrong = next((figures for figures in failed.outputs if figures.wrong), None)
    if wrong is not None and _is_left_as_it_was(wrong, failed.category):
        found.append(f"{UNINITIALISED_TAIL}; {COMPUTE_THE_TAIL[kind]}")
    elif wrong is not None and (size := _size(wrong, failed.category, kind)):
        found.append(size)
    distribution = DISTRIBUTIONS.get(failed.distribution)
    if distribution is None:
        return found
    if distribution.overflows and wrong is not None and wrong.nonfinite_mismatch:
        found.append(OVERFLOW)
    elif distribution.suspicion and failed.category in OF_VALUES:
        found.append(distribution.suspicion)
    return found


def _is_left_as_it_was(figures: ErrorFigures, category: Category | None) -> bool:
    """Whether only a tail is wrong, and looks uninitialised: the fill pattern, a single value, or enormous values."""
    if not _TAIL.search(figures.pattern):
        return False
    enormous = figures.max_error >= ENORMOUS_ERROR and not figures.nonfinite_mismatch
    return category is Category.UNWRITTEN_OUTPUT or enormous or figures.likeness.startswith("all of them are")


def _size(figures: ErrorFigures, category: Category | None, device_kind: Literal["cpu", "cuda"]) -> str:
    if figures.nonfinite_mismatch:
        return f"{figures.nonfinite_mismatch} are NaN or infinite where the right values are finite, or the reverse"
    is_small = figures.max_error <= ROUNDING_ERROR and category is not Category.UNWRITTEN_OUTPUT
    if category is Category.PRECISION_LOSS or is_small:
        if "number of" in figures.likeness:
            return "the output was rounded to half precision on its way"
        if "times what" in figures.likeness:
            return ""
        if figures.max_error > FAR_ABOVE_RMS * figures.rms_error:
            return f"possible causes: {CANCELLATION}, {APPROXIMATIONS[device_kind]}"
        return f"possible causes: {(NARROW_PRODUCTS if figures.max_error >= NARROW_PRODUCT_ERROR else APPROXIMATIONS)[device_kind]}"
    if figures.max_error >= ENORMOUS_ERROR:
        return "possible cause: uninitialised memory, or a read out of bounds"
    return ""


def unlike_the_references(parameters: ParametersEvidence | None) -> str:
    """The parameters without a counterpart, and what to do. Empty if each has one, or there is nothing to compare."""
    if parameters is None or not (parameters.unmatched or parameters.missing):
        return ""
    several = len(parameters.unmatched or parameters.missing) > 1
    noun, named = ("parameters", "their names") if several else ("parameter", "its name")
    if not parameters.unmatched:
        verb = "have" if several else "has"
        return f"reference {noun} {_listed(parameters.missing)} {verb} no counterpart here, by name or values: {_remedy(named)}"
    verb = "match" if several else "matches"
    text = f"its {noun} {_listed(parameters.unmatched, quoted=True)} {verb} no reference parameter by name or values"
    counterparts = _counterparts(parameters)
    if not counterparts:
        return f"{text}: {_remedy('')}"
    return f"{text}; the reference has {_listed(counterparts)}: {_remedy(named)}"


def _remedy(named: str) -> str:
    return f"construct the same layers in the same order{f', or use {named}' if named else ''}"


def _counterparts(parameters: ParametersEvidence) -> tuple[str, ...]:
    """For each unmatched parameter, in order: the missing one of its shape with the most similar name. If there is none, all missing."""
    left, found = list(parameters.missing), []
    for own in parameters.unmatched:
        name, shape = _split(own)
        alike = [other for other in left if _split(other)[1] == shape]
        if alike:
            nearest = max(alike, key=lambda other: SequenceMatcher(None, name, _split(other)[0]).ratio())
            left.remove(nearest)
            found.append(nearest)
    return tuple(found) or parameters.missing


def _listed(parameters: tuple[str, ...], quoted: bool = False) -> str:
    shown = [f"'{name}' {shape}" if quoted else f"{name} {shape}" for name, shape in map(_split, parameters[:SHOWN])]
    others = len(parameters) - len(shown)
    return ", ".join(shown) + (f" and {others} other{'s' if others > 1 else ''}" if others else "")


def _split(parameter: str) -> tuple[str, str]:
    """The name and the shape in `weight (64, 32)`."""
    name, _, shape = parameter.partition(" ")
    return name, shape
