"""Runs and their stored evaluations, for pages that follow a run."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from db.queries.ranking import chunks
from db.schema.models import AuthorRow, BoardRow, EvaluationRow, RunRow, SubmissionRow
from db.schema.queue_models import OriginRow
from db.store import Store

_COLUMNS = (RunRow.id, RunRow.command, RunRow.evaluator_version, RunRow.started_at, RunRow.finished_at)
_COUNTS = (RunRow.expected, RunRow.skipped)


@dataclass(frozen=True, slots=True)
class Run:
    """One command that stored evaluations."""

    id: int
    words: tuple[str, ...]
    """The command's words, without passwords in URLs."""
    evaluator_version: str
    started_at: datetime
    finished_at: datetime | None
    """None while it runs, and always if it was killed."""
    expected: int | None
    """Number of the run's submissions, as it last reported; None if it could not tell."""
    skipped: int
    """Number of already judged ones among them."""
    statuses: dict[str, int]
    """Number of its evaluations by status."""
    devices: tuple[str, ...] = ()
    """Device models of its evaluations."""


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """One evaluation, in short."""

    evaluation_id: int
    run_id: int | None
    started_at: datetime
    submission: str
    block: int | None
    author: str | None
    problem: str | None
    case: str | None
    device_name: str
    status: str
    category: str
    speedup: float | None
    disturbed: str = ""
    """What disturbed its times, in words. Empty if nothing did, and until `db.queries.disturbances` has read it."""


def runs(store: Store, limit: int, *, counted: bool = True, before: int | None = None) -> tuple[Run, ...]:
    """The last runs with a number below `before`, newest first.

    Without `counted`, which reads all their evaluations, `statuses` and `devices` are empty. Raises StoreError if the database
    can't be read.
    """
    query = select(*_COLUMNS, *_COUNTS).order_by(RunRow.id.desc()).limit(limit)
    with store.read() as connection:
        return _runs(connection, query if before is None else query.where(RunRow.id < before), counted)


def run(store: Store, number: int) -> Run | None:
    """One run; None if there is no such run."""
    with store.read() as connection:
        return next(iter(_runs(connection, select(*_COLUMNS, *_COUNTS).where(RunRow.id == number), True)), None)


def arrivals(
    store: Store, limit: int, *, after: int = 0, before: int | None = None, run_id: int | None = None
) -> tuple[EvaluationSummary, ...]:
    """The last evaluations with ids between `after` and `before` (both excluded), newest first; only one run's with `run_id`."""
    row = EvaluationRow
    query = summary_query().where(row.id > after)
    if before is not None:
        query = query.where(row.id < before)
    if run_id is not None:
        query = query.where(row.run_id == run_id)
    with store.read() as connection:
        return summaries(connection, query.order_by(row.id.desc()).limit(limit))


def of_ids(store: Store, ids: Collection[int]) -> tuple[EvaluationSummary, ...]:
    """The existing evaluations with these ids, newest first."""
    query = summary_query().where(EvaluationRow.id.in_(ids)).order_by(EvaluationRow.id.desc())
    with store.read() as connection:
        return summaries(connection, query)


def in_order(store: Store, ids: Sequence[int]) -> tuple[EvaluationSummary, ...]:
    """The existing evaluations with these ids, in this order."""
    found = {row.evaluation_id: row for some in chunks(ids) for row in of_ids(store, some)}
    return tuple(found[number] for number in ids if number in found)


def came_between(store: Store, after: int, last: int) -> dict[int, Counter[str]]:
    """Number of evaluations by run and status, with ids above `after` and up to `last`."""
    row = EvaluationRow
    query = select(row.run_id, row.status, func.count()).where(row.id > after, row.id <= last, row.run_id.is_not(None))
    found: dict[int, Counter[str]] = defaultdict(Counter)
    with store.read() as connection:
        for run_id, status, count in connection.execute(query.group_by(row.run_id, row.status)):
            if run_id is not None:
                found[run_id][status] += count
    return found


def newest(store: Store) -> int:
    """Id of the evaluation stored last; 0 if there is none."""
    with store.read() as connection:
        return connection.execute(select(func.max(EvaluationRow.id))).scalar() or 0


def state(store: Store) -> tuple[int, ...]:
    """Ids of the newest evaluation, submission and origin; 0 if there is none. A changed author makes new submissions (`db.authorship`)."""
    with store.read() as connection:
        query = select(*(select(func.max(row.id)).scalar_subquery() for row in (EvaluationRow, SubmissionRow, OriginRow)))
        return tuple(number or 0 for number in connection.execute(query).one())


def summary_query() -> Any:
    """A query for `summaries`, for conditions to be added."""
    row = EvaluationRow
    return (
        select(row.id, row.run_id, row.started_at, SubmissionRow.name, SubmissionRow.block, AuthorRow.name)
        .add_columns(BoardRow.problem, BoardRow.case, BoardRow.device_name, row.status, row.category, row.speedup)
        .join(SubmissionRow, SubmissionRow.id == row.submission_id)
        .join(AuthorRow, AuthorRow.id == row.author_id)
        .join(BoardRow, BoardRow.id == row.board_id)
    )


def summaries(connection: Connection, query: Any) -> tuple[EvaluationSummary, ...]:
    """The evaluations that a `summary_query` finds, in its order."""
    return tuple(EvaluationSummary(*item) for item in connection.execute(query))


def _runs(connection: Connection, query: Any, counted: bool) -> tuple[Run, ...]:
    found = connection.execute(query).all()
    row = EvaluationRow
    statuses: dict[int, Counter[str]] = defaultdict(Counter)
    devices: dict[int, set[str]] = defaultdict(set)
    counts = select(row.run_id, row.status, row.board_id, func.count()).where(row.run_id.in_([item.id for item in found if counted]))
    grouped = connection.execute(counts.group_by(row.run_id, row.status, row.board_id)).all()
    names: dict[int, str] = {}
    for ids in chunks({board_id for _, _, board_id, _ in grouped}):
        known = connection.execute(select(BoardRow.id, BoardRow.device_name).where(BoardRow.id.in_(ids)))
        names |= {board.id: board.device_name for board in known}
    for run_id, status, board_id, count in grouped:
        if run_id is not None:
            statuses[run_id][status] += count
            devices[run_id] |= {names[board_id]} - {""}
    return tuple(
        Run(
            item.id,
            tuple(json.loads(item.command)),
            item.evaluator_version,
            item.started_at,
            item.finished_at,
            item.expected,
            item.skipped,
            dict(statuses[item.id]),
            tuple(sorted(devices[item.id])),
        )
        for item in found
    )
