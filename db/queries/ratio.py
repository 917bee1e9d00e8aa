"""How much faster one evaluation is than another, if their times can be compared.

A speedup uses the baseline of the same timing, so the ratio of two speedups does not depend on the machine's speed at either time. Its
interval combines both intervals, which are independent, on a logarithmic scale: Donner and Zou, Closed-form confidence intervals for
functions of the normal mean and standard deviation (2012), section 2 (MOVER).
"""

import math
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from db.queries.ranking import chunks
from db.schema.models import AuthorRow, BoardRow, EvaluationRow, SubmissionRow
from db.store import Store
from evaluator.results.category import Category


@dataclass(frozen=True, slots=True)
class TimedEvaluation:
    """An evaluation with its board and its speedup, if any."""

    evaluation_id: int
    submission: str
    block: int | None
    author: str | None
    source_id: int
    problem: str | None
    problem_sha256: str | None
    case: str | None
    device_name: str
    precision: str | None
    protocol: str | None
    status: str
    category: str
    runtime_ms: float | None
    baseline_ms: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    disturbed: str = ""
    """What disturbed its times, in words. Empty if nothing did, and until `db.queries.disturbances` has read it."""

    @property
    def is_solved(self) -> bool:
        return self.category == Category.OK.value


@dataclass(frozen=True, slots=True)
class Ratio:
    """Speedup on the right side divided by that on the left."""

    ratio: float
    low: float | None
    """The ends of its 95 % interval; None if either side has too few samples."""
    high: float | None


def timed_query() -> Any:
    """A query for the fields of `TimedEvaluation`, in their order, for conditions to be added."""
    row, board = EvaluationRow, BoardRow
    return (
        select(row.id, SubmissionRow.name, SubmissionRow.block, AuthorRow.name, row.source_id)
        .add_columns(board.problem, board.problem_sha256, board.case, board.device_name, board.precision, board.protocol)
        .add_columns(row.status, row.category, row.runtime_ms, row.baseline_ms, row.speedup, row.speedup_low, row.speedup_high)
        .join(SubmissionRow, SubmissionRow.id == row.submission_id)
        .join(AuthorRow, AuthorRow.id == row.author_id)
        .join(board, board.id == row.board_id)
    )


def timed(store: Store, *evaluation_ids: int) -> dict[int, TimedEvaluation]:
    """The existing evaluations with these ids. Raises StoreError if the database can't be read."""
    found: dict[int, TimedEvaluation] = {}
    with store.read() as connection:
        for ids in chunks(evaluation_ids):
            found |= {row[0]: TimedEvaluation(*row) for row in connection.execute(timed_query().where(EvaluationRow.id.in_(ids)))}
    return found


def why_not(left: TimedEvaluation, right: TimedEvaluation) -> str:
    """Why the two speedups can't be compared, in words; empty if they can."""
    untimed = [name for name, side in (("left", left), ("right", right)) if side.speedup is None]
    if untimed:
        return f"The {' and the '.join(untimed)} one {'was' if len(untimed) == 1 else 'were'} not timed."
    kinds = {"problem": "problem", "case": "case", "device_name": "device", "precision": "precision", "protocol": "protocol"}
    for name, kind in kinds.items():
        values = getattr(left, name), getattr(right, name)
        if values[0] != values[1]:
            unnamed = "the device's default" if name == "protocol" else "an unknown one"
            return f"They were timed on different {kind}s: {values[0] or unnamed} and {values[1] or unnamed}."
    if left.problem_sha256 != right.problem_sha256:
        return "They were timed on different versions of the problem."
    return ""


def ratio(left: TimedEvaluation, right: TimedEvaluation) -> Ratio | None:
    """The ratio; None if they can't be compared (`why_not`)."""
    if why_not(left, right) or not left.speedup or not right.speedup:
        return None
    value = right.speedup / left.speedup
    below, above = _shares(right), _shares(left)
    if below is None or above is None:
        return Ratio(value, None, None)
    (right_low, right_high), (left_low, left_high) = below, above
    return Ratio(value, value * math.exp(-math.hypot(right_low, left_high)), value * math.exp(math.hypot(right_high, left_low)))


def _shares(side: TimedEvaluation) -> tuple[float, float] | None:
    """Distances of the interval's ends from the speedup, as logarithms of ratios; None without an interval."""
    low, speedup, high = side.speedup_low, side.speedup, side.speedup_high
    if not low or not speedup or not high or low == high:
        return None
    return math.log(speedup / low), math.log(high / speedup)
