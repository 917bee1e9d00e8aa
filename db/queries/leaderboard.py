"""Rankings and failures, from stored derived values (`db.storage.standing`), so that neither reads all evaluations."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, or_, select

from db.error import StoreError
from db.queries.filters import Filters
from db.queries.ranking import EVERYTHING, RankedEvaluation, author_id, chunks, newest_boards, places
from db.queries.workload_boards import workload_boards
from db.schema.evidence_models import BaselineRow, LightRow
from db.schema.models import AuthorRow, BoardRow, EvaluationRow, SourceRow, SubmissionRow, TallyRow, TotalRow
from db.store import Store
from evaluator.results.category import CATEGORIES, Category, Status

UNKNOWN: dict[str, Any] = {
    "device_name": BoardRow.device_name == "",
    "case": BoardRow.case.is_(None),
    "precision": BoardRow.precision.is_(None),
}
"""Columns of boards that an evaluation may have failed too early to know, with the condition for that."""


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One place in the ranking of a board: one problem, case, device and precision."""

    rank: int
    """From 1 within the board, among all authors (`db.queries.ranking.ranks`)."""
    shared: bool
    """Whether another place of the board, shown or not, has the same rank."""
    problem: str
    case: str | None
    device_name: str
    precision: str | None
    protocol: str | None
    """None for the device's default."""
    speedup: float
    speedup_low: float
    speedup_high: float
    runtime_ms: float
    baseline_ms: float
    author: str | None
    submission: str
    block: int | None
    evaluation_id: int
    source_sha256: str
    evaluator_version: str
    started_at: datetime
    speed_of_light: float | None
    """The submission's share of it; None if not known."""
    baseline_speed_of_light: float | None
    category: str
    """`ok`, or `reduced_precision` if that is ranked too."""
    best_baseline: str | None = None
    """Kind of the fastest baseline, if there are several."""
    best_baseline_ms: float | None = None
    result_id: int = 0
    """The evaluation whose figures these are: the latest with this source on the board, which may be another author's."""
    disturbed: str = ""
    """What disturbed its times, in words. Empty if nothing did, and until `db.queries.disturbances` has read it."""


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """Number of current evaluations in one category."""

    status: Status
    category: Category
    count: int


@dataclass(frozen=True, slots=True)
class Failures:
    """All evaluations that are not `correct/ok`, by cause, and the number of all evaluations."""

    evaluations: int
    counts: tuple[CategoryCount, ...]
    """Most frequent first."""


def leaderboard(
    store: Store, filters: Filters = EVERYTHING, *, every: bool = False, top: int | None = None, reduced_precision: bool = False
) -> tuple[LeaderboardRow, ...]:
    """The ranking by problem, case, device and precision, best first: one row per author, or per submission with `every`.

    `top` keeps the ranks up to that number; `reduced_precision` also ranks that category. Ranks do not depend on the filters. Raises
    StoreError if the database can't be read.
    """
    with store.read() as connection:
        boards = newest_boards(connection, filters)
        ranking = places(connection, boards, every, reduced_precision=reduced_precision)
        only = None if filters.author is None else author_id(connection, filters.author)
        if filters.author is not None and only is None:
            return ()
        chosen = [
            (board, place)
            for board in boards
            for place in ranking[board.id]
            if (only is None or place.author_id == only) and (top is None or place.rank <= top)
        ]
        details = _details(connection, [place for _, place in chosen])
        by_workload = list(_workload_rows(connection, filters, only, top, every=every, reduced_precision=reduced_precision))
    rows = tuple(
        LeaderboardRow(
            place.rank,
            place.shared,
            board.problem,
            board.case,
            board.device_name,
            board.precision,
            board.protocol,
            place.speedup,
            place.speedup_low,
            place.speedup_high,
            *details[place.evaluation_id],
        )
        for board, place in chosen
    )
    return (*rows, *by_workload)


def _workload_rows(
    connection: Any, filters: Filters, only: int | None, top: int | None, *, every: bool, reduced_precision: bool
) -> Iterator[LeaderboardRow]:
    """The ranking by one workload, if the filter's case is a workload that was timed with others."""
    for found in workload_boards(connection, filters, every=every, reduced_precision=reduced_precision):
        board = found.board
        places = [place for place in found.places if (only is None or place.author_id == only) and (top is None or place.rank <= top)]
        details = _details(connection, places)
        for place in places:
            known = (place.rank, place.shared, board.problem, board.case, board.device_name, board.precision, board.protocol)
            row = LeaderboardRow(*known, place.speedup, place.speedup_low, place.speedup_high, *details[place.evaluation_id])
            runtime_ms, baseline_ms = found.times_ms[place.result_id]
            yield replace(row, runtime_ms=runtime_ms, baseline_ms=baseline_ms, speed_of_light=None, baseline_speed_of_light=None)


def failures(store: Store, filters: Filters = EVERYTHING) -> Failures:
    """Counts of the current evaluations by category.

    The protocol is ignored. Evaluations that failed before their device, case or precision was known pass any filter on it, so that every
    submission is counted. Raises StoreError if the database can't be read.
    """
    with store.read() as connection:
        tally, passing = current_counts(connection, filters)
        query = select(tally.category, func.sum(tally.count)).where(*passing).group_by(tally.category)
        return counted({name: int(count) for name, count in connection.execute(query)})


def current_counts(connection: Connection, filters: Filters) -> tuple[type[TallyRow] | type[TotalRow], list[Any]]:
    """The table that counts the current evaluations of these filters, and the conditions on its rows."""
    tally: type[TallyRow] | type[TotalRow] = TotalRow if filters.author is None else TallyRow
    given = boards_that_pass(filters)
    passing: list[Any] = [tally.board_id.in_(select(BoardRow.id).where(*given))] if given else []
    if filters.author is not None:
        # An unknown author has no evaluations, and no row has the id 0.
        passing.append(TallyRow.author_id == (author_id(connection, filters.author) or 0))
    return tally, passing


def boards_that_pass(filters: Filters) -> list[Any]:
    """Conditions on `boards` for counting. Evaluations without a known device, case or precision pass any filter on it."""
    given = ((column, getattr(BoardRow, column) == value) for column, value in filters.columns().items())
    return [or_(equal, UNKNOWN[column]) if column in UNKNOWN else equal for column, equal in given]


def counted(counts: dict[str, int], solved: Collection[str] = (Category.OK.value,)) -> Failures:
    """The failures among evaluations, counted by category; those in `solved` are not failures.

    Raises StoreError for a category of a newer version.
    """
    found = [_count(name, count) for name, count in counts.items()]
    failed = sorted(
        (item for item in found if item.category.value not in solved), key=lambda item: (-item.count, item.status, item.category)
    )
    return Failures(evaluations=sum(item.count for item in found), counts=tuple(failed))


def _count(name: str, count: int) -> CategoryCount:
    try:
        category = Category(name)
    except ValueError as error:
        raise StoreError(f"The database holds results of a newer Assay: {error}. Use that version to read it.") from error
    return CategoryCount(CATEGORIES[category].status, category, count)


def _details(connection: Any, places: Sequence[RankedEvaluation]) -> dict[int, tuple[Any, ...]]:
    """The last fields of LeaderboardRow, by evaluation: names of the place's own, figures of its result's."""
    row = EvaluationRow
    names = (
        select(row.id, AuthorRow.name, SubmissionRow.name, SubmissionRow.block, row.id, SourceRow.sha256)
        .join(SubmissionRow, SubmissionRow.id == row.submission_id)
        .join(AuthorRow, AuthorRow.id == row.author_id)
        .join(SourceRow, SourceRow.id == row.source_id)
    )
    light = LightRow
    figures = select(row.id, row.runtime_ms, row.baseline_ms, row.evaluator_version, row.started_at, light.share, light.baseline_share)
    figures = figures.outerjoin(light, light.evaluation_id == row.id)
    named, found = (
        {item[0]: item[1:] for ids in chunks(numbers) for item in connection.execute(query.where(row.id.in_(ids)))}
        for query, numbers in ((names, [each.evaluation_id for each in places]), (figures, {each.result_id for each in places}))
    )
    best, nothing = _best_baselines(connection, [*found]), (None, None)
    return {
        each.evaluation_id: (*own[:2], *named[each.evaluation_id], *own[2:], each.category, *best.get(number, nothing), number)
        for each in places
        for number, own in ((each.result_id, found[each.result_id]),)
    }


def _best_baselines(connection: Any, evaluation_ids: list[int]) -> dict[int, tuple[str, float]]:
    """Kind and time of the fastest baseline, for evaluations with several."""
    found: dict[int, list[tuple[float, str]]] = {}
    row = BaselineRow
    for ids in chunks(evaluation_ids):
        query = select(row.evaluation_id, row.runtime_ms, row.kind).where(row.evaluation_id.in_(ids))
        for number, time_ms, kind in connection.execute(query):
            found.setdefault(number, []).append((time_ms, kind))
    return {number: (min(times)[1], min(times)[0]) for number, times in found.items() if len(times) > 1}
