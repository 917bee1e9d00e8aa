"""Rankings and failures, each one query over the current evaluations (see `db.current`).

Ranked are `correct/ok` evaluations of the newest version of their problem, which is the version that was evaluated last. A source
has one row an author and board, however many submissions repeat it: its latest evaluation, so that handing in copies can't pick the
luckiest timing.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import CTE, func, or_, select

from db.current import current_evaluations
from db.error import StoreError
from db.models import EvaluationRow, ProblemRow
from db.store import Store
from evaluator.category import Category, Status


@dataclass(frozen=True)
class LeaderboardRow:
    """One source in the ranking of its board: one problem, case and device."""

    rank: int
    """From 1 within the board, among all authors; equal speedups share a rank."""
    problem: str
    case: str | None
    device_name: str
    speedup: float
    runtime_ms: float
    baseline_ms: float
    author: str | None
    submission: str
    block: int | None
    evaluation_id: int
    source_sha256: str
    evaluator_version: str
    started_at: datetime


@dataclass(frozen=True)
class CategoryCount:
    """How many current evaluations ended in one category."""

    status: Status
    category: Category
    count: int


@dataclass(frozen=True)
class Failures:
    """All that is not `correct/ok`, by cause, and the number of evaluations that it is a part of."""

    evaluations: int
    counts: tuple[CategoryCount, ...]
    """Most frequent first."""


def leaderboard(
    store: Store, problem: str | None = None, author: str | None = None, device: str | None = None, case: str | None = None
) -> tuple[LeaderboardRow, ...]:
    """The ranking, by problem, case and device, best speedup first.

    Every filter is an exact name; `device` is the name of a device model. Ranks do not depend on the filters. Raises StoreError where the
    database can't be read.
    """
    row = EvaluationRow
    filters = ((row.problem, problem), (row.device_name, device), (row.case, case))
    unique = _one_per_source(current_evaluations(*(column == value for column, value in filters if value is not None)))
    board = [row.problem, row.case, row.device_name]
    rank = func.rank().over(partition_by=board, order_by=row.speedup.desc()).label("rank")
    columns = [getattr(row, name) for name in LeaderboardRow.__dataclass_fields__ if name not in ("rank", "evaluation_id")]
    ranked = (
        select(rank, row.id.label("evaluation_id"), *columns).join(unique, unique.c.id == row.id).where(unique.c.place == 1).cte("ranked")
    )
    query = select(ranked).order_by(ranked.c.problem, ranked.c.case, ranked.c.device_name, ranked.c.rank, ranked.c.evaluation_id)
    if author is not None:
        query = query.where(ranked.c.author == author)
    with store.read() as connection:
        return tuple(LeaderboardRow(**found) for found in connection.execute(query).mappings())


def failures(
    store: Store, problem: str | None = None, author: str | None = None, device: str | None = None, case: str | None = None
) -> Failures:
    """Counts of the current evaluations by category.

    The filters are those of `leaderboard`, but evaluations that failed before their device or case was known pass any filter on it: no
    submission drops out of the count. Raises StoreError where the database can't be read.
    """
    row = EvaluationRow
    given = [] if problem is None else [row.problem == problem]
    if device is not None:
        given.append(or_(row.device_name == device, row.device_name == ""))
    if case is not None:
        given.append(or_(row.case == case, row.case.is_(None)))
    current = current_evaluations(*given)
    count = func.count().label("count")
    query = select(row.status, row.category, count).join(current, current.c.id == row.id).group_by(row.status, row.category)
    if author is not None:
        query = query.where(row.author == author)
    with store.read() as connection:
        found = [_count(*item) for item in connection.execute(query)]
    failed = sorted(
        (item for item in found if item.category is not Category.OK), key=lambda item: (-item.count, item.status, item.category)
    )
    return Failures(evaluations=sum(item.count for item in found), counts=tuple(failed))


def _count(status: str, category: str, count: int) -> CategoryCount:
    try:
        return CategoryCount(Status(status), Category(category), count)
    except ValueError as error:
        raise StoreError(f"The database holds results of a newer Assay: {error}. Use that version to read it.") from error


def _one_per_source(current: CTE) -> CTE:
    """Ids of the rankable evaluations; place 1 is the latest of its author, source and board."""
    row = EvaluationRow
    newest = _newest_problems()
    place = (
        func.row_number()
        .over(partition_by=[row.problem, row.case, row.device_name, row.author, row.source_sha256], order_by=row.id.desc())
        .label("place")
    )
    return (
        select(row.id, place)
        .join(current, current.c.id == row.id)
        .join(newest, (newest.c.name == row.problem) & (newest.c.sha256 == row.problem_sha256))
        .where(newest.c.place == 1, row.category == Category.OK.value)
        .cte("unique_sources")
    )


def _newest_problems() -> CTE:
    """Every version of every problem; place 1 is the one that was evaluated last."""
    row = EvaluationRow
    last = (
        select(func.max(row.id))
        .where(row.problem == ProblemRow.name, row.problem_sha256 == ProblemRow.sha256)
        .correlate(ProblemRow)
        .scalar_subquery()
    )
    place = func.row_number().over(partition_by=ProblemRow.name, order_by=last.desc()).label("place")
    return select(ProblemRow.name, ProblemRow.sha256, place).cte("newest_problems")
