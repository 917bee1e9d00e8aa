"""Lists evaluations, newest first, by filters and verdicts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from db.queries.filters import Filters
from db.queries.leaderboard import boards_that_pass
from db.queries.ranking import EVERYTHING, author_id
from db.queries.runs import EvaluationSummary, summaries, summary_query
from db.schema.models import BoardRow, EvaluationRow, SubmissionRow
from db.schema.queue_models import OriginRow
from db.storage.origin import with_tag
from db.store import Store
from evaluator.results.category import Category, Status


@dataclass(frozen=True, slots=True)
class Choice:
    """Conditions on an evaluation; None lets everything pass."""

    filters: Filters = EVERYTHING
    """As for counts of failures: evaluations that failed before their device, case or precision was known pass; the protocol is ignored."""
    status: Status | None = None
    category: Category | None = None
    run_id: int | None = None
    since: datetime | None = None
    """Earliest start."""
    step: int | None = None
    """A training step of its requests."""
    tag: str | None = None
    """A tag of its requests, as `name=value`. With `step`, of the same request."""

    @property
    def requested(self) -> Any:
        """A query for the ids of evaluations with such a request; None without `step` and `tag`."""
        wanted = [] if self.step is None else [OriginRow.step == self.step]
        if self.tag is not None:
            name, _, value = self.tag.partition("=")
            wanted.append(with_tag(name, value))
        return select(OriginRow.evaluation_id).where(OriginRow.evaluation_id.is_not(None), *wanted) if wanted else None

    among: frozenset[int] | None = None
    """Ids, as `db.queries.texts` finds them."""


def evaluations(store: Store, choice: Choice, limit: int) -> tuple[EvaluationSummary, ...]:
    """The last `limit` matching evaluations, newest first, history included. Raises StoreError if the database can't be read."""
    query = summary_query()
    with store.read() as connection:
        wanted, order = _wanted(connection, choice)
        return summaries(connection, query.where(*wanted).order_by(order.desc()).limit(limit))


def chosen(store: Store, choice: Choice, limit: int | None = None) -> tuple[Any, ...]:
    """Conditions of a query for the matching evaluations, or for the last `limit` of them. Raises StoreError."""
    row = EvaluationRow
    with store.read() as connection:
        wanted, order = _wanted(connection, choice)
    return wanted if limit is None else (row.id.in_(select(row.id).where(*wanted).order_by(order.desc()).limit(limit)),)


def _wanted(connection: Connection, choice: Choice) -> tuple[tuple[Any, ...], Any]:
    """Conditions on an evaluation, and the expression that orders evaluations from the oldest on."""
    row = EvaluationRow
    wanted: list[Any] = []
    if choice.status is not None:
        wanted.append(row.status == choice.status.value)
    if choice.category is not None:
        wanted.append(row.category == choice.category.value)
    if choice.run_id is not None:
        wanted.append(row.run_id == choice.run_id)
    if choice.since is not None:
        wanted.append(row.started_at >= choice.since)
    if (requested := choice.requested) is not None:
        wanted.append(row.id.in_(requested))
    if choice.among is not None:
        wanted.append(row.id.in_(choice.among))
    given, author = boards_that_pass(choice.filters), choice.filters.author
    if given:
        wanted.append(row.board_id.in_(select(BoardRow.id).where(*given)))
    if author is not None:
        # An unknown author has no submissions, and no row has the id 0.
        number = author_id(connection, author) or 0
        wanted.append(row.submission_id.in_(select(SubmissionRow.id).where(SubmissionRow.author_id == number)))
    # By id, a database would scan all evaluations from the newest on. It can't use an index for the order of a sum.
    return tuple(wanted), row.id + 0 if given or author is not None else row.id
