"""What the steps of training runs were worth: an author's requested evaluations by step."""

import math
from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import select

from db.queries.ranking import author_id
from db.schema.models import EvaluationRow
from db.schema.queue_models import OriginRow
from db.storage.origin import RUN_TAG
from db.store import Store
from evaluator.results.category import Category, Status

RIGHT = tuple(category.value for category in (Category.OK, Category.REDUCED_PRECISION, Category.UNTIMED))
"""Right by work of its own kernels: what the reward client gives its part `correct` for."""


@dataclass(frozen=True, slots=True)
class StepWorth:
    """One step of one training run. An evaluation counts once, however often the step requested it."""

    run: str | None
    """The value of the tag `run`."""
    step: int
    evaluations: int
    """Number of those with a verdict."""
    right: float
    """Share of the evaluations that are right."""
    faster: float
    """Share that is right and faster than the baseline."""
    speedup: float | None
    """Geometric mean of the speedups of right ones; None if none has times."""


def are_any(store: Store) -> bool:
    """Whether any request told where it comes from. Raises StoreError if the database can't be read."""
    with store.read() as connection:
        return connection.execute(select(OriginRow.id).limit(1)).first() is not None


def steps(store: Store, author: str) -> tuple[StepWorth, ...]:
    """All steps, run by run, that with the latest evaluation last. Raises StoreError if the database can't be read."""
    row, run = EvaluationRow, OriginRow.tags[RUN_TAG].as_string()
    with store.read() as connection:
        query = (
            select(run, OriginRow.step, row.id, row.category, row.speedup)
            .join(row, row.id == OriginRow.evaluation_id)
            .where(OriginRow.step.is_not(None), row.author_id == (author_id(connection, author) or 0))
            .where(row.status != Status.NOT_EVALUATED.value)
        )
        found: dict[tuple[str | None, int], dict[int, tuple[bool, float | None]]] = defaultdict(dict)
        for name, step, number, category, speedup in connection.execute(query):
            found[name, step][number] = (category in RIGHT, speedup)
    latest: dict[str | None, int] = {}
    for (name, _), verdicts in found.items():
        latest[name] = max(latest.get(name, 0), *verdicts)
    ordered = sorted(found, key=lambda key: (latest[key[0]], key[0] or "", key[1]))
    return tuple(_worth(name, step, list(found[name, step].values())) for name, step in ordered)


def _worth(name: str | None, step: int, verdicts: list[tuple[bool, float | None]]) -> StepWorth:
    count = len(verdicts)
    right = [speedup for is_right, speedup in verdicts if is_right]
    speedups = [speedup for speedup in right if speedup is not None]
    mean = math.exp(math.fsum(map(math.log, speedups)) / len(speedups)) if speedups else None
    return StepWorth(name, step, count, len(right) / count, sum(speedup > 1.0 for speedup in speedups) / count, mean)
