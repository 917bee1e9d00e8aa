"""A few columns of all evaluations, in memory, so that counts over time and lists don't read the database again.

Of stored evaluations only the author changes, with the submission (`db.authorship`). So only those that are new, or belong to a new
submission, are read each time. A million evaluations take 33 MB.
"""

import threading
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import Connection, Text, func, select, type_coerce

from db.error import StoreError
from db.queries.evaluations import Choice
from db.queries.facets import Facets, board_facets
from db.queries.filters import Filters
from db.queries.leaderboard import boards_that_pass
from db.queries.ranking import EVERYTHING, author_id, chunks
from db.queries.runs import EvaluationSummary, in_order
from db.schema.models import AuthorRow, BoardRow, EvaluationRow, SubmissionRow
from db.store import Store
from evaluator.results.category import Category, Status
from evaluator.results.display.text import natural

MOST_NAMED = 20_000
"""Maximum evaluations sorted by submission, whose name is not kept in memory."""
INTERVALS = 60
"""About the maximum number of intervals over time."""
_DAY_S = 24 * 3600
_LENGTHS_S = (1, 10, 60, 600, 3600, 6 * 3600, _DAY_S, 7 * _DAY_S, 28 * _DAY_S, 364 * _DAY_S)
"""Lengths of an interval."""
_PAGE = 50_000
"""Rows per read."""
_HOUR_CHARS, _SECOND_CHARS = len("2026-01-01T00"), len("2026-01-01T00:00:00")
_CATEGORIES = tuple(Category)
_NUMBER_OF = {category.value: number for number, category in enumerate(_CATEGORIES)}
_PASSING = np.array([number for number, category in enumerate(_CATEGORIES) if category.status is Status.NOT_EVALUATED], dtype=np.uint8)
_LAST = np.int64(2**33)
"""Sorts missing values last."""


def sorted_evaluations(store: Store, choice: Choice, limit: int, sort: str, *, descending: bool) -> tuple[EvaluationSummary, ...]:
    """The first `limit` matching evaluations in this order (`Timeline.page`). Raises StoreError."""
    return in_order(store, Timeline(store).page(choice, limit, 0, sort, descending=descending)[1])


@dataclass(frozen=True, slots=True)
class Intervals:
    """Numbers of evaluations in intervals of one length."""

    length: timedelta
    counts: dict[datetime, Counter[Category]]
    """By the begin of the interval, in order. Intervals without evaluations are left out."""


class Timeline:
    """Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._last = self._last_submission = 0
        self._ids, self._started, self._speedups = array("q"), array("q"), array("f")
        self._boards, self._authors, self._runs, self._categories = array("i"), array("i"), array("i"), array("B")
        self._columns: tuple[array[Any], ...] = (
            *(self._ids, self._boards, self._authors, self._runs),
            *(self._speedups, self._categories, self._started),
        )
        self._hour_of: dict[str, int] = {}

    def refresh(self) -> None:
        """Read the new evaluations and the new authors. Raises StoreError if the database can't be read."""
        row = EvaluationRow
        second = func.substr(type_coerce(row.started_at, Text), 1, _SECOND_CHARS)
        query = select(row.id, row.board_id, row.author_id, row.run_id, row.speedup, row.category, second).order_by(row.id).limit(_PAGE)
        with self._lock:
            with self._store.read() as connection:
                self._refresh_authors(connection)
            while True:
                with self._store.read() as connection:
                    found = connection.execute(query.where(row.id > self._last)).all()
                for item in found:
                    self._add(*item)
                if found:
                    self._last = found[-1][0]
                if len(found) < _PAGE:
                    break

    def _refresh_authors(self, connection: Connection) -> None:
        """Read the authors of known evaluations that belong to new submissions."""
        row = EvaluationRow
        moved = select(row.id, row.author_id).where(row.submission_id > self._last_submission, row.id <= self._last)
        for number, author in connection.execute(moved):
            self._authors[bisect_left(self._ids, number)] = author
        self._last_submission = connection.execute(select(func.max(SubmissionRow.id))).scalar() or 0

    def counts(self, filters: Filters = EVERYTHING) -> Intervals:
        """Number of evaluations that began in each interval, by category, history included. The filters are those of `failures`.

        An interval is as long as the time from the first to the last evaluation requires. `not_evaluated` ones are left out.
        """
        self.refresh()
        with self._lock, self._store.read() as connection:
            categories = np.frombuffer(self._categories, dtype=np.uint8)
            chosen = self._chosen(connection, Choice(filters)) & ~np.isin(categories, _PASSING)
            started = np.frombuffer(self._started, dtype=np.int64)[chosen]
            categories = categories[chosen]  # a copy: an array with a view can't grow
        first, last = (int(started.min()), int(started.max())) if len(started) else (0, 0)
        length_s = next((length_s for length_s in _LENGTHS_S if last - first <= length_s * INTERVALS), _LENGTHS_S[-1])
        midnight = first // _DAY_S * _DAY_S
        keys, numbers = np.unique((started - midnight) // length_s * len(_CATEGORIES) + categories, return_counts=True)
        found: dict[datetime, Counter[Category]] = {}
        for key, number in zip(keys.tolist(), numbers.tolist(), strict=True):
            moment = datetime.fromtimestamp(midnight + key // len(_CATEGORIES) * length_s, UTC)
            found.setdefault(moment, Counter())[_CATEGORIES[key % len(_CATEGORIES)]] = number
        return Intervals(timedelta(seconds=length_s), found)

    def page(
        self, choice: Choice, limit: int, offset: int = 0, sort: str | None = None, *, descending: bool = True
    ) -> tuple[int, list[int]]:
        """Number of matching evaluations, and the ids of some of them, in the order `sort`; None: as stored.

        sort: one of `db.list_options.ORDERS`. Missing values come last. More than MOST_NAMED are not sorted by submission.

        Raises StoreError.
        """
        self.refresh()
        with self._lock, self._store.read() as connection:
            chosen = np.flatnonzero(self._chosen(connection, choice))
            ids = np.frombuffer(self._ids, dtype=np.int64)[chosen]
            if sort == "submission" and len(chosen) > MOST_NAMED:
                sort = None
            keys = self._keys(connection, sort, chosen, ids)
        if keys is not None and descending:
            keys = np.where(keys == _LAST, _LAST, -keys)
        if keys is None:
            ordered = ids[::-1] if descending else ids
            return len(ids), ordered[offset : offset + limit].tolist()
        # Among equals, the last stored one comes first. Sorting only the first ones takes a tenth of sorting all.
        places = keys * len(ids) + np.arange(len(ids))[::-1]
        if offset + limit < len(ids):
            places = np.partition(places, offset + limit)[: offset + limit]
        places.sort()
        return len(ids), ids[len(ids) - 1 - places[offset : offset + limit] % len(ids)].tolist()

    def facets(self, choice: Choice) -> Facets:
        """Facets of the evaluations that match, history included. Raises StoreError."""
        self.refresh()
        with self._lock, self._store.read() as connection:
            conditions = self._conditions(connection, choice)

            def counts(column: Any, kind: Any, but: str) -> dict[int, int]:
                passing = self._meet([condition for name, condition in conditions.items() if name != but])
                found = np.bincount(np.frombuffer(column, dtype=kind)[passing])
                return {number: count for number, count in enumerate(found.tolist()) if count}

            categories = {_CATEGORIES[number]: count for number, count in counts(self._categories, np.uint8, "category").items()}
            statuses: Counter[str] = Counter()
            for number, count in counts(self._categories, np.uint8, "status").items():
                statuses[_CATEGORIES[number].status.value] += count
            by_author = counts(self._authors, np.int32, "author")
            names = _names(connection, select(AuthorRow.id, AuthorRow.name).where(AuthorRow.name.is_not(None)))
            found = board_facets(connection, choice.filters, counts(self._boards, np.int32, "boards"))
        authors = {name: by_author.get(number, 0) for number, name in names.items() if name is not None}
        return found | {"status": dict(statuses), "category": {each.value: n for each, n in categories.items()}, "author": authors}

    def _add(self, number: int, board: int, author: int, run: int | None, speedup: float | None, category: str, started: str) -> None:
        known = float("nan") if speedup is None else speedup
        values = (number, board, author, run or 0, known, _number_of(category), self._seconds(started))
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def _chosen(self, connection: Connection, choice: Choice) -> Any:
        """Whether each evaluation matches."""
        return self._meet(self._conditions(connection, choice).values())

    def _meet(self, conditions: Iterable[Any]) -> Any:
        """Whether each evaluation meets all conditions."""
        chosen = np.ones(len(self._ids), dtype=bool)
        for condition in conditions:
            chosen &= condition
        return chosen

    def _conditions(self, connection: Connection, choice: Choice) -> dict[str, Any]:
        """Whether each evaluation meets the given conditions, by their names; `boards` for all that are on boards."""
        categories = np.frombuffer(self._categories, dtype=np.uint8)
        given: dict[str, Any] = {}
        if choice.status is not None:
            kinds = [number for number, category in enumerate(_CATEGORIES) if category.status is choice.status]
            given["status"] = np.isin(categories, np.array(kinds, dtype=np.uint8))
        if choice.category is not None:
            given["category"] = categories == _NUMBER_OF[choice.category.value]
        if choice.run_id is not None:
            given["run"] = np.frombuffer(self._runs, dtype=np.int32) == choice.run_id
        if choice.since is not None:
            given["since"] = np.frombuffer(self._started, dtype=np.int64) >= int(choice.since.timestamp())
        if choice.among is not None:
            given["among"] = np.isin(np.frombuffer(self._ids, dtype=np.int64), np.array(list(choice.among), dtype=np.int64))
        if choice.filters.author is not None:
            # An unknown author has no evaluations, and no row has the id 0.
            given["author"] = np.frombuffer(self._authors, dtype=np.int32) == (author_id(connection, choice.filters.author) or 0)
        if passing := boards_that_pass(choice.filters):
            boards: Collection[int] = connection.execute(select(BoardRow.id).where(*passing)).scalars().all()
            given["boards"] = np.isin(np.frombuffer(self._boards, dtype=np.int32), np.array(boards, dtype=np.int32))
        if (requested := choice.requested) is not None:
            numbers = connection.execute(requested).scalars().all()
            given["requested"] = np.isin(np.frombuffer(self._ids, dtype=np.int64), np.array(numbers, dtype=np.int64))
        return given

    def _keys(self, connection: Connection, sort: str | None, chosen: Any, ids: Any) -> Any:
        """Integers that sort like the values, for each chosen evaluation; None for the order of ids."""
        if sort in ("status", "category"):
            names = [category.status.value if sort == "status" else category.value for category in _CATEGORIES]
            return _ranks(dict(enumerate(names)))[np.frombuffer(self._categories, dtype=np.uint8)[chosen]]
        if sort == "speedup":
            speedups = np.frombuffer(self._speedups, dtype=np.float32)[chosen]
            # The bits of positive floats sort like the floats.
            return np.where(np.isnan(speedups), _LAST, speedups.view(np.int32))
        if sort == "started":
            return np.frombuffer(self._started, dtype=np.int64)[chosen]
        if sort == "run":
            runs = np.frombuffer(self._runs, dtype=np.int32)[chosen]
            return np.where(runs == 0, _LAST, runs)
        if sort == "author":
            return _ranks(_names(connection, select(AuthorRow.id, AuthorRow.name)))[np.frombuffer(self._authors, dtype=np.int32)[chosen]]
        if sort in _OF_BOARDS:
            return _ranks(_names(connection, select(BoardRow.id, _OF_BOARDS[sort])))[np.frombuffer(self._boards, dtype=np.int32)[chosen]]
        if sort == "submission":
            query = select(EvaluationRow.id, SubmissionRow.name).join(SubmissionRow, SubmissionRow.id == EvaluationRow.submission_id)
            names_of: dict[int, str | None] = {}
            for some in chunks(ids.tolist()):
                names_of |= _names(connection, query.where(EvaluationRow.id.in_(some)))
            return np.array(_ranked([names_of.get(number) for number in ids.tolist()]), dtype=np.int64)
        return None

    def _seconds(self, started: str) -> int:
        """Seconds since 1970."""
        hour = started[:_HOUR_CHARS]
        if hour not in self._hour_of:
            moment = datetime.fromisoformat(f"{hour}:00:00+00:00")
            self._hour_of[hour] = int(moment.timestamp())
        return self._hour_of[hour] + int(started[14:16]) * 60 + int(started[17:19])


_OF_BOARDS = {"problem": BoardRow.problem, "case": BoardRow.case, "device": BoardRow.device_name}


def _number_of(category: str) -> int:
    if category not in _NUMBER_OF:
        raise StoreError(f"The database holds results of a newer Assay: {category!r} is no category. Use that version to read it.")
    return _NUMBER_OF[category]


def _names(connection: Connection, query: Any) -> dict[int, str | None]:
    return {row[0]: row[1] for row in connection.execute(query)}


def _ranks(names: dict[int, str | None]) -> Any:
    """An array with each name's place in sorted order, by its number."""
    found = np.full(max(names, default=0) + 1, _LAST)
    found[list(names)] = _ranked(list(names.values()))
    return found


def _ranked(names: list[str | None]) -> list[int]:
    """Each name's place, as people order names; the last one for no name."""
    place = {name: number for number, name in enumerate(sorted({name for name in names if name}, key=lambda name: (natural(name), name)))}
    return [place[name] if name else int(_LAST) for name in names]
