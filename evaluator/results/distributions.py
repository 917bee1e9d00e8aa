"""The distributions of inputs, and what each means for a judgement. evaluator.judge.correctness.inputs changes the values."""

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What decides whether an output is wrong."""

    TOLERANCE = "tolerance"
    """Errors beyond the tolerance."""
    GROSS = "gross"
    """Those of them that are also gross."""
    FINITE = "finite"
    """Gross errors of finite elements: the output may overflow."""
    REPORT = "report"
    """As TOLERANCE, but the verdict does not depend on it."""

    @property
    def is_gross(self) -> bool:
        """Whether only gross errors decide."""
        return self in (Rule.GROSS, Rule.FINITE)


@dataclass(frozen=True)
class Distribution:
    """One way to change a problem's random inputs."""

    meaning: str
    rule: Rule = Rule.REPORT
    """What decides in rounds, unless the problem declares `"inputs": "any"`."""
    suspicion: str = ""
    """A possible cause if this is the first distribution with a wrong output."""
    telling: str = ""
    """What its inputs have, if arithmetic of float32 errs there by no more than usual."""
    weight: int = 1
    """How many times as often as others its outputs are compared when timed."""
    few: bool = False
    """Whether it changes a few values only."""
    in_place: bool = False
    """Whether it changes those of the previous inputs."""
    ties: bool = False
    """Whether elements become equal. PyTorch does not say which of two equal ones an argmax names."""
    overflows: bool = False
    """Whether exp() overflows."""


OWN, SCALED = "own", "scaled"
ROWS, RUNS, OUTLIERS = "rows", "runs", "outliers"
_FEW = "with a few changed values"

DISTRIBUTIONS = {
    OWN: Distribution("as get_inputs() draws them", Rule.TOLERANCE),
    "signs": Distribution(
        "signs are random",
        Rule.GROSS,
        "here every sign is random: a kernel that is right only for positive inputs fails, as does a missing negative branch",
        telling="with random signs",
    ),
    SCALED: Distribution(
        "signs are random, each row times a number from 1/4 to 4",
        Rule.GROSS,
        "here each row is multiplied by 1/4 to 4, and signs are random: a formula for the usual range fails, as does a missing bound",
    ),
    "wide": Distribution(
        "magnitudes over six decades (float16: over two and a half)",
        suspicion="here magnitudes span six decades: a narrow accumulator fails, as does a formula with cancellation",
        overflows=True,
    ),
    "ties": Distribution("rounded to quarters, so that many elements are equal", suspicion="here many inputs are equal", ties=True),
    "shifted": Distribution(
        "100 added (float16: 12), so that exp() overflows",
        suspicion="here 100 is added to the inputs (float16: 12): a formula with cancellation, such as E[x²] - E[x]², fails",
        ties=True,
        overflows=True,
    ),
    "special": Distribution(
        "rows of zeros, constant rows, ascending rows, rows with one large element",
        suspicion="here rows are all zeros, constant, ascending, or with one large element: "
        "division by zero or a wrong initial value fails",
        ties=True,
    ),
    ROWS: Distribution(
        "a few rows are smaller, and the signs of a few runs of elements change",
        Rule.GROSS,
        "here a few rows of the usual inputs are smaller, and a few signs differ: a formula valid only for the usual inputs fails",
        telling=_FEW,
        weight=2,
        few=True,
    ),
    OUTLIERS: Distribution(
        "a few elements of the previous inputs are large",
        Rule.FINITE,
        "here a few elements of the previous inputs became large, in place: cached results fail, as do estimates from a sample",
        telling=_FEW,
        weight=2,
        few=True,
        in_place=True,
    ),
    RUNS: Distribution(
        "the signs of a few runs of the previous inputs' elements change",
        Rule.GROSS,
        "here a few elements of the previous inputs were changed in place: cached results fail",
        telling=_FEW,
        weight=2,
        few=True,
        in_place=True,
    ),
}
SOUND = ("signs", SCALED)
"""Distributions that only multiply, and all values."""
