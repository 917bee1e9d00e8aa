"""What disturbed an evaluation's times, in words, for lists that mark them.

The remark follows from the evidence, which takes long to read for all places. So only rows that are shown get it.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import case, select

from db.queries.ranking import chunks
from db.schema.models import EvaluationRow
from db.store import Store
from evaluator.results.evidence import ConditionsEvidence

EVIDENCE = case((EvaluationRow.speedup.is_not(None), EvaluationRow.evidence))
"""A column with the evidence of a timed evaluation, which `remark` reads; null for others."""
UNREADABLE = "this version of Assay can't read its evidence"
Row = TypeVar("Row", bound=Any)
_MOST_KNOWN = 200_000
"""Remarks kept in memory."""


class Disturbances:
    """The remarks of evaluations by id. Each evaluation is read once, since it never changes. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, str] = {}

    def of(self, evaluation_ids: Iterable[int | None]) -> Mapping[int | None, str]:
        """The remark on each evaluation's times, empty if nothing disturbed them. Raises StoreError if the database can't be read."""
        given, known = set(evaluation_ids), self._known
        wanted = {number for number in given if number is not None}
        if new := {number for number in wanted if number not in known}:
            if len(known) > _MOST_KNOWN:
                self._known = known = {}
                new = wanted
            with self._store.read() as connection:
                for ids in chunks(new):
                    found = connection.execute(select(EvaluationRow.id, EVIDENCE).where(EvaluationRow.id.in_(ids)))
                    known.update((number, remark(evidence)) for number, evidence in found)
        return {number: "" if number is None else known.get(number, "") for number in given}

    def told(self, rows: Iterable[Row], number: str = "evaluation_id", field: str = "disturbed") -> tuple[Row, ...]:
        """The rows with their remarks. Raises StoreError.

        rows: dataclasses. number: their field with the id of the evaluation whose times they show; None without times.
        field: their field for its remark.
        """
        given = tuple(rows)
        found = self.of(getattr(row, number) for row in given)
        return tuple(replace(row, **{field: found[getattr(row, number)]}) for row in given)


def remark(evidence: bytes | None) -> str:
    """What disturbed the times, in words; empty if nothing did. Evidence that can't be read says nothing for its times either."""
    if evidence is None:
        return ""
    try:
        conditions = json.loads(zlib.decompress(evidence)).get("conditions")
        return ConditionsEvidence.model_validate(conditions).remark if conditions else ""
    except (zlib.error, ValueError, AttributeError):
        return UNREADABLE
