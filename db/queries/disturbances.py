"""What disturbed an evaluation's times, in words, for lists that mark them.

The remark follows from the evidence, which takes long to read for all places. So only rows that are shown get it.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlalchemy import case, select

from db.queries.leaderboard import LeaderboardRow
from db.queries.ranking import chunks
from db.schema.models import EvaluationRow
from db.store import Store
from evaluator.results.evidence import ConditionsEvidence

EVIDENCE = case((EvaluationRow.speedup.is_not(None), EvaluationRow.evidence))
"""A column with the evidence of a timed evaluation, which `remark` reads; null for others."""
UNREADABLE = "this version of Assay can't read its evidence"


class Disturbances:
    """The remarks of evaluations by id. Each evaluation is read once, since it never changes. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, str] = {}

    def of(self, evaluation_ids: Iterable[int]) -> Mapping[int, str]:
        """The remark on each evaluation's times, empty if nothing disturbed them. Raises StoreError if the database can't be read."""
        wanted = set(evaluation_ids)
        if new := wanted - self._known.keys():
            with self._store.read() as connection:
                for ids in chunks(new):
                    found = connection.execute(select(EvaluationRow.id, EVIDENCE).where(EvaluationRow.id.in_(ids)))
                    self._known.update((number, remark(evidence)) for number, evidence in found)
        return {number: self._known.get(number, "") for number in wanted}

    def told(self, rows: Iterable[LeaderboardRow]) -> tuple[LeaderboardRow, ...]:
        """The places with their remarks. Raises StoreError."""
        given = tuple(rows)
        found = self.of(row.result_id for row in given)
        return tuple(replace(row, disturbed=found[row.result_id]) for row in given)


def remark(evidence: bytes | None) -> str:
    """What disturbed the times, in words; empty if nothing did. Evidence that can't be read says nothing for its times either."""
    if evidence is None:
        return ""
    try:
        conditions = json.loads(zlib.decompress(evidence)).get("conditions")
        return ConditionsEvidence.model_validate(conditions).remark if conditions else ""
    except (zlib.error, ValueError, AttributeError):
        return UNREADABLE
