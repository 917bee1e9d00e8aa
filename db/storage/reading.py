"""Queries that fetch whole evaluations, or the few columns that tell which submissions were judged."""

import json
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from db.schema.evidence_models import LightRow
from db.schema.models import (
    AuthorRow,
    BoardRow,
    EnvironmentRow,
    EvaluationRow,
    ProblemRow,
    RunRow,
    SourceRow,
    SubmissionRow,
)
from db.storage import evidence_rows, rows
from db.storage.origin import Origin, origins_of
from db.storage.record import RunCommand
from db.storage.rows import EvaluationKey
from evaluator.results.category import Status
from evaluator.results.result import Result


@dataclass(frozen=True)
class StoredEvaluation:
    """One evaluation as it was saved."""

    id: int
    result: Result
    source: str
    source_exact: bool
    """False if the source was cut or is not UTF-8, so that the text does not hash to `result.source_sha256`."""
    problem_source: str | None
    speedup_interval: tuple[float, float] | None = None
    """95 % confidence interval of the speedup; None without a speedup."""
    command: RunCommand | None = None
    """The run that stored it, if known."""
    origins: tuple[Origin, ...] = ()
    """What training runs said of their requests for it."""


def everything() -> Any:
    """An evaluation with all rows that it refers to; columns are named as in a result."""
    row = EvaluationRow
    return (
        select(
            *(column for column in row.__table__.columns),
            SubmissionRow.name.label("submission"),
            SubmissionRow.block,
            SubmissionRow.sample_id,
            AuthorRow.name.label("author"),
            BoardRow.problem,
            BoardRow.problem_sha256,
            BoardRow.case,
            BoardRow.precision,
            BoardRow.protocol,
            SourceRow.sha256.label("source_sha256"),
            SourceRow.text.label("source_text"),
            SourceRow.exact.label("source_exact"),
            ProblemRow.source.label("problem_text"),
            EnvironmentRow.json.label("environment_json"),
            RunRow.command.label("run_command"),
            RunRow.evaluator_version.label("run_version"),
            RunRow.started_at.label("run_started_at"),
            RunRow.finished_at.label("run_finished_at"),
        )
        .join(SubmissionRow, SubmissionRow.id == row.submission_id)
        .join(AuthorRow, AuthorRow.id == row.author_id)
        .join(BoardRow, BoardRow.id == row.board_id)
        .join(SourceRow, SourceRow.id == row.source_id)
        .outerjoin(ProblemRow, (ProblemRow.name == BoardRow.problem) & (ProblemRow.sha256 == BoardRow.problem_sha256))
        .outerjoin(EnvironmentRow, EnvironmentRow.id == row.environment_id)
        .outerjoin(RunRow, RunRow.id == row.run_id)
        .outerjoin(LightRow, LightRow.evaluation_id == row.id)
    )


ONE = everything().where(EvaluationRow.id == bindparam("number"))
"""The evaluation `number`."""


def stored(connection: Connection, row: Any) -> StoredEvaluation:
    """The evaluation of a row of `everything`. Raises StoreError if this version can't read it."""
    try:
        evidence = evidence_rows.join(connection, row["id"], rows.evidence_rest(row))
    except (ValueError, KeyError, IndexError, TypeError, zlib.error) as error:
        raise rows.unreadable(row, error) from error
    command = None
    if row["run_command"] is not None:
        words = tuple(json.loads(row["run_command"]))
        command = RunCommand(words, row["run_version"], row["run_started_at"], row["run_finished_at"])
    return StoredEvaluation(
        id=row["id"],
        result=rows.result_of(row, evidence),
        source=row["source_text"],
        source_exact=bool(row["source_exact"]),
        problem_source=row["problem_text"],
        speedup_interval=None if row["speedup"] is None else (row["speedup_low"], row["speedup_high"]),
        command=command,
        origins=origins_of(connection, [row["id"]]).get(row["id"], ()),
    )


def keys(connection: Connection, names: Collection[str]) -> Iterator[tuple[EvaluationKey, int]]:
    """Keys and ids of the current evaluations with a verdict, of submissions with these names."""
    row = EvaluationRow
    query = (
        select(SubmissionRow.name, SubmissionRow.block, SourceRow.sha256, BoardRow.problem_sha256, BoardRow.case, BoardRow.device_name)
        .add_columns(BoardRow.precision, row.evaluator_version, BoardRow.protocol, row.id)
        .join(SubmissionRow, SubmissionRow.id == row.submission_id)
        .join(BoardRow, BoardRow.id == row.board_id)
        .join(SourceRow, SourceRow.id == row.source_id)
        .where(row.is_current, row.status != Status.NOT_EVALUATED.value, SubmissionRow.name.in_(names))
    )
    return ((EvaluationKey(*fields), number) for *fields, number in connection.execute(query))


def summary_columns() -> dict[str, Any]:
    """Columns of `everything` for tables, by name, and the evidence, from which others follow."""
    row = EvaluationRow
    own = ["id", "device", "status", "category", "message", "hint", "runtime_ms", "baseline_ms", "speedup", "speedup_low", "speedup_high"]
    own += ["started_at", "duration_s", "evaluator_version", "sandbox", "is_current", "is_ranked", "evidence"]
    of_board = ("problem", "problem_sha256", "case", "device_name", "precision", "protocol")
    return (
        {name: getattr(row, name) for name in own}
        | {name: getattr(BoardRow, name) for name in of_board}
        | {"submission": SubmissionRow.name, "block": SubmissionRow.block, "sample_id": SubmissionRow.sample_id}
        | {"author": AuthorRow.name, "source_sha256": SourceRow.sha256}
        | {"speed_of_light": LightRow.share, "baseline_speed_of_light": LightRow.baseline_share}
    )
