"""Whether submissions are right in other shapes too, as far as they were asked."""

from collections.abc import Collection

from sqlalchemy import select

from db.queries.ranking import chunks
from db.schema.models import EvaluationRow, SubmissionRow
from db.storage.rows import evidence_rest
from db.store import Store
from evaluator.results.evidence import Evidence, ShapeEvidence


def generality(store: Store, evaluation_ids: Collection[int]) -> dict[int, str]:
    """`yes`, `no` or `untested` for each evaluation, by its id. It reads their evidence: meant for as many as a page shows.

    Raises StoreError where the database can't be read, or is damaged.
    """
    found: dict[int, str] = {}
    row = EvaluationRow
    with store.read() as connection:
        for ids in chunks(evaluation_ids):
            query = select(row.id, row.evidence, row.evaluator_version, SubmissionRow.name.label("submission"))
            query = query.join(SubmissionRow, SubmissionRow.id == row.submission_id).where(row.id.in_(ids))
            for item in connection.execute(query).mappings():
                shapes = tuple(map(ShapeEvidence.model_validate, evidence_rest(dict(item)).get("shapes", ())))
                found[item["id"]] = Evidence(shapes=shapes).generalises
    return found
