"""What the judge found about one answer: it is right, wrong, or decides nothing."""

from dataclasses import dataclass, fields
from typing import Any

from evaluator.judge.correctness.compare import KnownErrors
from evaluator.results.category import Category
from evaluator.results.evidence import ErrorFigures, LeftOutBy


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The comparison of an answer with the right one."""

    figures: tuple[ErrorFigures, ...] = ()
    """Errors of each output; empty if its form is wrong."""
    informative: bool = True
    """Whether the reference was accurate enough here to judge by: on an output that is wrong, or on all of them if none is."""
    accepts_zeros: bool = False
    """Whether the reference errs so much at an element of an output that zeros pass there."""
    known: tuple[KnownErrors, ...] = ()
    """What was learnt of the reference's errors, for each output."""

    @property
    def beyond(self) -> set[int]:
        """Numbers of the outputs with errors beyond the tolerance."""
        return {number for number, figures in enumerate(self.figures) if figures.max_error > figures.tolerance}

    @property
    def overflows(self) -> bool:
        """Whether an element is NaN or infinite and the right one is not, or the other way round."""
        return any(figures.nonfinite_mismatch for figures in self.figures)

    def as_wrong(self, category: Category, message: str) -> "Wrong":
        """Return this comparison as that of a wrong answer."""
        return Wrong(category, message, **self._compared)

    def as_left_out(self, reason: LeftOutBy, message: str) -> "LeftOut":
        """Return this comparison as one that decides nothing."""
        return LeftOut(reason, message, **self._compared)

    @property
    def _compared(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Outcome)}


@dataclass(frozen=True)
class Right(Outcome):
    """The answer is right."""


@dataclass(frozen=True)
class Wrong(Outcome):
    """The answer is wrong."""

    category: Category
    message: str


@dataclass(frozen=True)
class LeftOut(Outcome):
    """The answer decides nothing."""

    reason: LeftOutBy
    message: str
