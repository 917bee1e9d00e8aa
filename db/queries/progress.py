"""How the best speedups rose over time: on the boards of a problem, and of an author over all tasks.

Every `ok` evaluation counts, history included. The database finds each that was the best so far. Of the others, as many as a plot can
show are chosen, evenly by time.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, or_, select

from db.queries.filters import Filters
from db.queries.ranking import KnownBoard, author_id, chunks, judged_on, newest_boards
from db.queries.statistics import FAILURE_SPEEDUP
from db.schema.models import AuthorRow, EvaluationRow, SubmissionRow
from db.store import Store
from evaluator.results.category import Category

MAX_POINTS = 400
"""About the maximum of evaluations in one plot."""


@dataclass(frozen=True, slots=True)
class Point:
    """One `ok` evaluation."""

    started_at: datetime
    speedup: float


@dataclass(frozen=True, slots=True)
class BestSoFar:
    """An `ok` evaluation with a higher speedup than all earlier ones on its board."""

    started_at: datetime
    evaluation_id: int
    speedup: float
    runtime_ms: float
    author: str | None
    submission: str
    disturbed: str = ""
    """What disturbed its times, in words. Empty if nothing did, and until `db.queries.disturbances` has read it."""


@dataclass(frozen=True, slots=True)
class BoardProgress:
    """One board of a problem."""

    case: str | None
    device_name: str
    precision: str | None
    evaluations: int
    """Number of `ok` evaluations."""
    best: tuple[BestSoFar, ...]
    """In the order of their start."""
    points: tuple[Point, ...]
    """Some of the evaluations, evenly chosen by time."""


@dataclass(frozen=True, slots=True)
class AuthorProgress:
    """An author on one case and device."""

    case: str | None
    device_name: str
    tasks: int
    evaluations: int
    """Number of `ok` evaluations."""
    means: tuple[tuple[datetime, float], ...]
    """Each rise of the geometric mean of the best speedups so far over all tasks, as on the overall board."""
    points: tuple[Point, ...]
    """Some of the evaluations, evenly chosen by time."""


@dataclass(frozen=True, slots=True)
class _Item:
    """One chosen row."""

    board_id: int
    evaluation_id: int
    started_at: datetime
    speedup: float
    is_best: bool
    is_point: bool
    evaluations: int
    """Number of `ok` evaluations on its board."""


def problem_progress(store: Store, problem: str) -> tuple[BoardProgress, ...]:
    """The boards of the problem's newest version with an `ok` evaluation. Raises StoreError if the database can't be read."""
    with store.read() as connection:
        boards = newest_boards(connection, Filters(problem=problem))
        items = _items(connection, [board.id for board in boards])
        told = dict(_details(connection, [item.evaluation_id for item in items if item.is_best]))
    found = []
    for board in boards:
        own = [item for item in items if item.board_id == board.id]
        best = tuple(
            BestSoFar(item.started_at, item.evaluation_id, item.speedup, *told[item.evaluation_id]) for item in own if item.is_best
        )
        if own:
            found.append(BoardProgress(board.case, board.device_name, board.precision, own[0].evaluations, best, _points(own)))
    return tuple(found)


def author_progress(store: Store, author: str) -> tuple[AuthorProgress, ...]:
    """The cases and devices on which the author has an `ok` evaluation. Raises StoreError if the database can't be read."""
    with store.read() as connection:
        boards = judged_on(connection, newest_boards(connection))
        items = _items(connection, [board.id for board in boards], author_id(connection, author) or 0)
    settings: dict[tuple[str | None, str], list[KnownBoard]] = defaultdict(list)
    for board in boards:
        settings[board.case, board.device_name].append(board)
    found = []
    for (case, device_name), tasks in settings.items():
        ids = {task.id for task in tasks}
        own = [item for item in items if item.board_id in ids]
        if own:
            evaluations = sum({item.board_id: item.evaluations for item in own}.values())
            found.append(AuthorProgress(case, device_name, len(tasks), evaluations, tuple(_means(own, len(tasks))), _points(own)))
    return tuple(found)


def _items(connection: Connection, board_ids: Collection[int], author: int | None = None) -> list[_Item]:
    """The evaluations to draw of these boards, in the order of their start; only one author's if given."""
    found: list[_Item] = []
    for ids in chunks(board_ids):
        found += _chosen(connection, ids, author)
    return sorted(found, key=lambda item: (item.started_at, item.evaluation_id))


def _chosen(connection: Connection, board_ids: list[int], author: int | None) -> Iterator[_Item]:
    row = EvaluationRow
    given = [row.board_id.in_(board_ids), row.category == Category.OK.value]
    if author is not None:
        given.append(row.submission_id.in_(select(SubmissionRow.id).where(SubmissionRow.author_id == author)))
    in_time: Any = (row.started_at, row.id)
    before = func.max(row.speedup).over(partition_by=row.board_id, order_by=in_time, rows=(None, -1)).label("before")
    place = func.row_number().over(order_by=in_time).label("place")
    columns = (row.board_id, row.id, row.started_at, row.speedup, before, place)
    counts = func.count().over(partition_by=row.board_id).label("counted"), func.count().over().label("total")
    seen = select(*columns, *counts).where(*given).subquery()
    is_best = or_(seen.c.before.is_(None), seen.c.speedup > seen.c.before)
    step = (seen.c.total - 1) // MAX_POINTS + 1
    is_point = (seen.c.place - 1) % step == 0
    query = select(seen.c.board_id, seen.c.id, seen.c.started_at, seen.c.speedup, is_best, is_point, seen.c.counted)
    for board_id, number, started_at, speedup, best, point, count in connection.execute(query.where(or_(is_best, is_point))):
        yield _Item(board_id, number, started_at, speedup or 0.0, bool(best), bool(point), count)


def _details(connection: Connection, evaluation_ids: Sequence[int]) -> Iterator[tuple[int, tuple[float, str | None, str]]]:
    """Time, author and submission of evaluations, by their ids."""
    row = EvaluationRow
    query = (
        select(row.id, row.runtime_ms, AuthorRow.name, SubmissionRow.name)
        .join(SubmissionRow, SubmissionRow.id == row.submission_id)
        .join(AuthorRow, AuthorRow.id == row.author_id)
    )
    for ids in chunks(evaluation_ids):
        for number, runtime_ms, author, submission in connection.execute(query.where(row.id.in_(ids))):
            yield number, (runtime_ms or 0.0, author, submission)


def _means(items: Sequence[_Item], tasks: int) -> Iterator[tuple[datetime, float]]:
    """The mean after each evaluation that was its board's best so far."""
    best: dict[int, float] = {}
    sum_of_logs = tasks * math.log(FAILURE_SPEEDUP)
    for item in items:
        counts = max(item.speedup, FAILURE_SPEEDUP)
        if item.is_best and counts > best.get(item.board_id, 0.0):
            sum_of_logs += math.log(counts / best.get(item.board_id, FAILURE_SPEEDUP))
            best[item.board_id] = counts
            yield item.started_at, math.exp(sum_of_logs / tasks)


def _points(items: Sequence[_Item]) -> tuple[Point, ...]:
    return tuple(Point(item.started_at, item.speedup) for item in items if item.is_point)
