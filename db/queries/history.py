"""All evaluations of one submission, in the order of storing."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from db.error import StoreError
from db.queries.disturbances import EVIDENCE, remark
from db.schema.models import AuthorRow, BoardRow, EvaluationRow, SourceRow, SubmissionRow
from db.storage.rows import storable_text
from db.store import Store


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One evaluation, in short."""

    evaluation_id: int
    started_at: datetime
    block: int | None
    author: str | None
    sample_id: int | None
    problem: str | None
    problem_sha256: str | None
    case: str | None
    device_name: str
    precision: str | None
    status: str
    category: str
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    source_sha256: str
    evaluator_version: str
    is_current: bool
    """Whether it is the submission's current evaluation."""
    is_ranked: bool
    disturbed: str = ""
    """What disturbed its times, in words; empty if nothing did."""


def history(store: Store, submission: str) -> tuple[HistoryRow, ...]:
    """All evaluations. Raises StoreError for an unknown submission, or if the database can't be read."""
    row = EvaluationRow
    query = (
        select(row.id, row.started_at, SubmissionRow.block, AuthorRow.name, SubmissionRow.sample_id)
        .add_columns(BoardRow.problem, BoardRow.problem_sha256, BoardRow.case, BoardRow.device_name, BoardRow.precision)
        .add_columns(row.status, row.category, row.speedup, row.speedup_low, row.speedup_high)
        .add_columns(SourceRow.sha256, row.evaluator_version, row.is_current, row.is_ranked, EVIDENCE)
        .join(SubmissionRow, SubmissionRow.id == row.submission_id)
        .join(AuthorRow, AuthorRow.id == row.author_id)
        .join(BoardRow, BoardRow.id == row.board_id)
        .join(SourceRow, SourceRow.id == row.source_id)
        .where(SubmissionRow.name == storable_text(submission))
    )
    with store.read() as connection:
        found = [HistoryRow(*(*item[:-1], remark(item[-1]))) for item in connection.execute(query.order_by(row.id))]
    if not found:
        raise StoreError(f"There is no submission {submission!r} in {store.name}. `assay list` lists evaluations.")
    return tuple(found)
