"""Compares two runs by submission: broken, slower, fixed, faster.

A submission that a run skipped because it had been judged counts for that run, with its existing evaluation.

Submissions of the two runs match if they have the same name, code block, problem and case. An unknown block, problem or case of a rejected
or not evaluated submission matches any. Of several evaluations in one run the last one counts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, func, select

from db.error import StoreError
from db.queries.filters import Filters
from db.queries.leaderboard import boards_that_pass
from db.queries.ranking import EVERYTHING, author_id
from db.queries.ratio import TimedEvaluation, ratio, timed_query
from db.queries.runs import Run, run
from db.schema.models import BoardRow, EvaluationRow, SkipRow
from db.store import Store
from evaluator.results.category import Status
from evaluator.results.display.text import natural

OUTCOMES = ("broke", "slower", "changed", "gone", "fixed", "faster", "new", "unchanged")
"""Outcomes of a submission in the right run compared with the left one, worst first."""
MOST_EVALUATIONS = 25_000
"""Maximum evaluations per run in a comparison."""
_Pair = tuple[TimedEvaluation | None, TimedEvaluation | None]
_Open = tuple[str, int | None]
"""Name and block."""
_LEFT_OPEN = {Status.REJECTED.value, Status.NOT_EVALUATED.value}
Value = TypeVar("Value")


class TooManyEvaluationsError(StoreError):
    """A run has too many evaluations to compare."""


class UnknownRunError(StoreError):
    """There is no run with that number."""


@dataclass(frozen=True, slots=True)
class ComparedSubmission:
    """One submission in both runs; a side is None if it is not in that run."""

    outcome: str
    """One of OUTCOMES."""
    submission: str
    block: int | None
    author: str | None
    problem: str | None
    case: str | None
    left: TimedEvaluation | None
    right: TimedEvaluation | None
    same_source: bool
    """Whether both runs judged the same source."""
    ratio: float | None
    """The right speedup divided by the left one, if both are on one board."""
    ratio_low: float | None
    """Its 95 % interval."""
    ratio_high: float | None

    @property
    def disturbed(self) -> str:
        """What disturbed the times of either side, in words; empty if nothing did."""
        return next((side.disturbed for side in (self.left, self.right) if side and side.disturbed), "")


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The right run compared with the left one."""

    left: Run
    right: Run
    counts: dict[str, int]
    """Number of submissions by outcome, worst first."""
    rows: tuple[ComparedSubmission, ...]
    """By outcome, worst first, then by problem and name."""


def compare_runs(store: Store, left: int, right: int, filters: Filters = EVERYTHING) -> RunComparison:
    """Compare two runs by their numbers; filters are as for counts of failures.

    Raises UnknownRunError, TooManyEvaluationsError, and StoreError if the database can't be read.
    """
    with store.read() as connection:
        sides = [_evaluations(connection, number, filters) for number in (left, right)]
    found = [run(store, number) for number in (left, right)]
    for number, head in zip((left, right), found, strict=True):
        if head is None:
            raise UnknownRunError(f"There is no run {number} in {store.name}.")
    rows = [_row(*pair) for pair in _pairs(*sides)]
    rows.sort(
        key=lambda row: (OUTCOMES.index(row.outcome), natural(row.problem or ""), natural(row.submission), row.block or 0, row.case or "")
    )
    counts = Counter(row.outcome for row in rows)
    first, second = found
    assert first is not None and second is not None
    return RunComparison(first, second, {name: counts[name] for name in OUTCOMES if counts[name]}, tuple(rows))


def _evaluations(connection: Connection, number: int, filters: Filters) -> list[TimedEvaluation]:
    """The last evaluation of each submission, block, problem and case of a run."""
    row = EvaluationRow
    judged, skipped = select(row.id).where(row.run_id == number), select(SkipRow.evaluation_id).where(SkipRow.run_id == number)
    query = timed_query().where(row.id.in_(judged.union_all(skipped)))
    given = boards_that_pass(filters)
    if given:
        query = query.where(row.board_id.in_(select(BoardRow.id).where(*given)))
    if filters.author is not None:
        # An unknown author has no evaluations, and no row has the id 0.
        query = query.where(row.author_id == (author_id(connection, filters.author) or 0))
    fitting = query.with_only_columns(row.id, maintain_column_froms=True).limit(MOST_EVALUATIONS + 1).subquery()
    if connection.execute(select(func.count()).select_from(fitting)).scalar_one() > MOST_EVALUATIONS:
        raise TooManyEvaluationsError(f"Run {number} has more than {MOST_EVALUATIONS} evaluations that fit. Name a problem or an author.")
    found = [TimedEvaluation(*item) for item in connection.execute(query.order_by(row.id))]
    return list({(item.submission, item.block, item.problem, item.case): item for item in found}.values())


def _pairs(left: Sequence[TimedEvaluation], right: Sequence[TimedEvaluation]) -> Iterator[_Pair]:
    """Each evaluation with its counterpart. One with an unknown block, problem or case may match several."""
    exact = {_key(item): item for item in right}
    rest: list[TimedEvaluation] = []
    for item in left:
        if (same := exact.pop(_key(item), None)) is not None:
            yield item, same
        else:
            rest.append(item)
    by_block: dict[_Open, list[TimedEvaluation]] = defaultdict(list)
    by_name: dict[str, list[TimedEvaluation]] = defaultdict(list)
    for item in exact.values():
        by_block[item.submission, item.block].append(item)
        by_name[item.submission].append(item)
    met: set[int] = set()
    for item in rest:
        near = (
            by_block[item.submission, item.block] + by_block[item.submission, None] if item.block is not None else by_name[item.submission]
        )
        fitting = [other for other in near if _fits(item, other)]
        met |= {other.evaluation_id for other in fitting}
        yield from ((item, other) for other in fitting or (None,))
    yield from ((None, item) for item in exact.values() if item.evaluation_id not in met)


def _key(item: TimedEvaluation) -> tuple[str, int | None, str | None, str | None]:
    return item.submission, item.block, item.problem, item.case


def _fits(left: TimedEvaluation, right: TimedEvaluation) -> bool:
    """Whether they differ only in fields that are unknown for one of them."""
    if not _LEFT_OPEN & {left.status, right.status}:
        return False
    return all(None in pair or pair[0] == pair[1] for pair in zip(_key(left)[1:], _key(right)[1:], strict=True))


def _row(left: TimedEvaluation | None, right: TimedEvaluation | None) -> ComparedSubmission:
    known = [side for side in (right, left) if side is not None]
    found = ratio(left, right) if left and right else None
    low, high = (found.low, found.high) if found else (None, None)
    return ComparedSubmission(
        outcome=_outcome(left, right, low, high),
        submission=known[0].submission,
        block=_first(side.block for side in known),
        author=known[0].author,
        problem=_first(side.problem for side in known),
        case=_first(side.case for side in known),
        left=left,
        right=right,
        same_source=left is not None and right is not None and left.source_id == right.source_id,
        ratio=found.ratio if found else None,
        ratio_low=low,
        ratio_high=high,
    )


def _outcome(left: TimedEvaluation | None, right: TimedEvaluation | None, low: float | None, high: float | None) -> str:
    if left is None or right is None:
        return "new" if left is None else "gone"
    if left.is_solved and right.is_solved:
        return "faster" if low is not None and low > 1 else "slower" if high is not None and high < 1 else "unchanged"
    if left.category == right.category:
        return "unchanged"
    if Status.NOT_EVALUATED.value in (left.status, right.status) or not (left.is_solved or right.is_solved):
        return "changed"
    return "broke" if left.is_solved else "fixed"


def _first(values: Iterable[Value | None]) -> Value | None:
    return next((value for value in values if value is not None), None)
