"""The end of a run in a few lines: how many submissions passed, how many are faster, by author, and why the others failed."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.text import Text

from db.queries.statistics import fast_p
from evaluator.results.advice import assay_command, hints
from evaluator.results.category import Category, Status
from evaluator.results.display.table import Column, Table

if TYPE_CHECKING:
    from db.queries.runs import EvaluationSummary
    from evaluator.results.result import Result

PASSED = (Category.OK, Category.UNTIMED)
CAUSES = 3
"""Shown causes of failure, the commonest ones."""
AUTHORS = 10
"""Maximum of shown authors, the best ones."""
_AUTHOR = Column("author", 90, "name")
_COLUMNS = (
    Column("passed", right=True),
    Column("fast_1", 80, right=True),
    Column("best", 70, right=True),
    Column("commonest failures", 60, "text"),
)


@dataclass(slots=True)
class _Tally:
    """The evaluations of one author, or of all."""

    categories: Counter[Category] = field(default_factory=Counter)
    speedups: list[float | None] = field(default_factory=list)
    """One per verdict on a submission; None if it is not `ok`."""

    def add(self, category: Category, speedup: float | None) -> None:
        self.categories[category] += 1
        if category.status is not Status.NOT_EVALUATED:
            self.speedups.append(speedup if category is Category.OK else None)

    @property
    def failures(self) -> dict[Category, int]:
        """Number of evaluations by category, except for those that passed."""
        return {category: count for category, count in self.categories.items() if category not in PASSED}

    @property
    def passed(self) -> float:
        """The share of the verdicts."""
        return sum(self.categories[category] for category in PASSED) / len(self.speedups) if self.speedups else 0.0

    @property
    def fast(self) -> float:
        """The share that is `ok` and faster than the baseline."""
        return fast_p(self.speedups, 1.0)

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of the table, without the author."""
        count, known = len(self.speedups), [speedup for speedup in self.speedups if speedup is not None]
        passed = f"{round(self.passed * count)} of {count}" + (f" ({self.passed:.1%})" if count else "")
        failed = [f"{self.categories[each]} {each}" for each in hints(self.failures) if each.status is not Status.NOT_EVALUATED]
        fast = "" if self.categories[Category.UNTIMED] or not count else f"{self.fast:.1%}"
        return passed, fast, f"{max(known):.2f}×" if known else "", ", ".join(failed[:CAUSES])


class Ending:
    """Counts the evaluations of a run, whether judged in it or before."""

    def __init__(self) -> None:
        self._all = _Tally()
        self._authors: defaultdict[str | None, _Tally] = defaultdict(_Tally)

    def add(self, found: "Result | EvaluationSummary") -> None:
        """Count an evaluation."""
        for tally in (self._all, self._authors[found.author]):
            tally.add(Category(found.category), found.speedup)

    def items(self) -> list[Text | Table]:
        """The figures, unless there is only one evaluation, and a hint on each of the commonest causes; for `Screen.text`."""
        causes = [*hints(self._all.failures).values()][:CAUSES]
        return [*(self._figures() if self._all.categories.total() > 1 else []), *causes]

    def _figures(self) -> list[Text | Table]:
        """A row per author, if there are several, and one for all."""
        if len(self._authors) < 2:
            table = Table(_COLUMNS)
            table.add(*self._all.cells)
            return [table]
        table = Table((_AUTHOR, *_COLUMNS))
        ranked = sorted(self._authors.items(), key=lambda item: (-item[1].fast, -item[1].passed, item[0] or ""))
        for author, tally in ranked[:AUTHORS]:
            table.add(author, *tally.cells)
        table.add("all", *self._all.cells)
        more = len(ranked) - AUTHORS
        return [table, *([Text(f"{more} more authors: {assay_command()} leaderboard --overall", "dim")] if more > 0 else [])]
