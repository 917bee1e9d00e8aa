"""Whether submissions are also right in other shapes, and on inputs of other distributions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from db.queries.leaderboard import LeaderboardRow
from db.queries.ranking import chunks
from db.schema.models import EvaluationRow, SubmissionRow
from db.storage.rows import evidence_rest
from db.store import Store
from evaluator.results.evidence import ChangedInputsEvidence, Evidence, ShapeEvidence


@dataclass(frozen=True, slots=True)
class Generality:
    """Both answers for one evaluation: `yes`, `no` or `untested` each."""

    generalises: str
    """Whether it is also right in other shapes."""
    robust: str
    """Whether it is also right on inputs of other distributions."""


def generality(store: Store, evaluation_ids: Collection[int]) -> dict[int, Generality]:
    """Both answers for each evaluation, by id. It reads their evidence, so it is meant for the evaluations of one page.

    Raises StoreError if the database can't be read, or is damaged.
    """
    found: dict[int, Generality] = {}
    row = EvaluationRow
    with store.read() as connection:
        for ids in chunks(evaluation_ids):
            query = select(row.id, row.evidence, row.evaluator_version, SubmissionRow.name.label("submission"))
            query = query.join(SubmissionRow, SubmissionRow.id == row.submission_id).where(row.id.in_(ids))
            for item in connection.execute(query).mappings():
                found[item["id"]] = generality_of(dict(item))
    return found


def generality_of(row: Mapping[str, Any]) -> Generality:
    """Both answers for a row with an evaluation's id, evidence, evaluator_version and submission. Raises StoreError."""
    rest = evidence_rest(row)
    evidence = Evidence(
        shapes=tuple(map(ShapeEvidence.model_validate, rest.get("shapes", ()))),
        changed_inputs=tuple(map(ChangedInputsEvidence.model_validate, rest.get("changed_inputs", ()))),
    )
    return Generality(evidence.generalises, evidence.robust)


def only(store: Store, rows: Sequence[LeaderboardRow], generalises: str | None, robust: str | None) -> tuple[LeaderboardRow, ...]:
    """The rows with these answers; None lets every answer pass. Raises StoreError."""
    if generalises is None and robust is None:
        return tuple(rows)
    found = generality(store, [row.evaluation_id for row in rows])

    def passes(told: Generality) -> bool:
        return generalises in (None, told.generalises) and robust in (None, told.robust)

    return tuple(row for row in rows if passes(found[row.evaluation_id]))
