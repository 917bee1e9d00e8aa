"""What was evaluated when: a few columns of all evaluations, in memory, so that counts over time don't read the database anew.

Evaluations are neither changed nor removed once they are stored. `not_evaluated` ones are left out here. So what
came since the last look is all that has to be read. A million evaluations take 25 MB.
"""

import threading
from array import array
from collections import Counter
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlalchemy import Text, func, select, type_coerce

from db.error import StoreError
from db.queries.filters import Filters
from db.queries.leaderboard import boards_that_pass
from db.queries.ranking import EVERYTHING, author_id
from db.schema.models import BoardRow, EvaluationRow
from db.store import Store
from evaluator.results.category import Category, Status

_PAGE = 50_000
"""Rows that are read at once."""
_HOUR_CHARS = len("2026-01-01T00")
_CATEGORIES = tuple(Category)
_NUMBER_OF = {category.value: number for number, category in enumerate(_CATEGORIES)}
HOUR_S = 3600


class Timeline:
    """Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._last = 0
        self._ids, self._boards, self._authors = array("q"), array("q"), array("q")
        self._hours, self._categories = array("q"), array("B")
        self._columns = (self._ids, self._boards, self._authors, self._categories, self._hours)
        self._hour_of: dict[str, int] = {}

    def refresh(self) -> None:
        """Reads what came since the last time. Raises StoreError where the database can't be read."""
        row = EvaluationRow
        hour = func.substr(type_coerce(row.started_at, Text), 1, _HOUR_CHARS)
        query = select(row.id, row.board_id, row.author_id, row.category, hour).order_by(row.id).limit(_PAGE)
        query = query.where(row.status != Status.NOT_EVALUATED.value)
        with self._lock:
            while True:
                with self._store.read() as connection:
                    found = connection.execute(query.where(row.id > self._last)).all()
                for number, board, author, category, started in found:
                    columns = (number, board, author, _number_of(category), self._hour(started))
                    for column, value in zip(self._columns, columns, strict=True):
                        column.append(value)
                if found:
                    self._last = found[-1][0]
                if len(found) < _PAGE:
                    return

    def counts(self, filters: Filters = EVERYTHING) -> dict[datetime, Counter[Category]]:
        """Evaluations that began in each hour, by category, history included; hours without any are left out. Filters as of `failures`."""
        self.refresh()
        with self._lock:
            chosen = self._chosen(filters)
            hours, categories = np.frombuffer(self._hours, dtype=np.int64), np.frombuffer(self._categories, dtype=np.uint8)
            keys, numbers = np.unique(hours[chosen] * len(_CATEGORIES) + categories[chosen], return_counts=True)
            del hours, categories  # an array that is looked at can't grow
        found: dict[datetime, Counter[Category]] = {}
        for key, number in zip(keys.tolist(), numbers.tolist(), strict=True):
            moment = datetime.fromtimestamp(key // len(_CATEGORIES) * HOUR_S, UTC)
            found.setdefault(moment, Counter())[_CATEGORIES[key % len(_CATEGORIES)]] = number
        return found

    def latest(self, limit: int, offset: int = 0, category: Category | None = None, filters: Filters = EVERYTHING) -> tuple[int, list[int]]:
        """How many evaluations fit, and the ids of some of them, newest first."""
        self.refresh()
        with self._lock:
            chosen = self._chosen(filters)
            if category is not None:
                chosen &= np.frombuffer(self._categories, dtype=np.uint8) == _NUMBER_OF[category.value]
            ids = np.frombuffer(self._ids, dtype=np.int64)[chosen][::-1]
        return len(ids), ids[offset : offset + limit].tolist()

    def _chosen(self, filters: Filters) -> Any:
        """A boolean for each evaluation."""
        chosen = np.ones(len(self._ids), dtype=bool)
        given = boards_that_pass(filters)
        with self._store.read() as connection:
            if filters.author is not None:
                # An unknown author has no evaluations, and no row has the id 0.
                chosen &= np.frombuffer(self._authors, dtype=np.int64) == (author_id(connection, filters.author) or 0)
            if given:
                boards: Collection[int] = connection.execute(select(BoardRow.id).where(*given)).scalars().all()
                chosen &= np.isin(np.frombuffer(self._boards, dtype=np.int64), np.array(boards, dtype=np.int64))
        return chosen

    def _hour(self, started: str) -> int:
        """Hours since 1970."""
        if started not in self._hour_of:
            moment = datetime.fromisoformat(f"{started}:00:00+00:00")
            self._hour_of[started] = int(moment.timestamp()) // HOUR_S
        return self._hour_of[started]


def _number_of(category: str) -> int:
    if category not in _NUMBER_OF:
        raise StoreError(f"The database holds results of a newer Assay: {category!r} is no category. Use that version to read it.")
    return _NUMBER_OF[category]
