"""The store saves evaluations and reads them back.

A saved evaluation is on disk when `save` returns, and any number of processes may save at once. If the database is gone or its disk is
full, evaluations go to a spool file (`db.storage.spool`), which the next store that is opened for writing imports.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Self

from sqlalchemy import Connection, Engine, func, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from db import DEFAULT_DATABASE
from db.address import Address, without_password
from db.connection import cause, is_outage, make_engine, way_out
from db.database import Database
from db.error import StoreError
from db.schema.models import CategoryRow, EvaluationRow, RunRow, SkipRow
from db.storage import reading, rows, spool, text_index
from db.storage.dimensions import Dimensions, upsert
from db.storage.origin import add_origins
from db.storage.reading import ONE, StoredEvaluation, everything, stored, summary_columns
from db.storage.record import Entry, RunCommand
from db.storage.rows import EvaluationKey
from db.storage.spool import Spool
from db.storage.writing import PreparedEntry, save_run, write
from db.upgrade import HISTORY, History, ensure_current
from evaluator.results.category import CATEGORIES
from evaluator.results.result import EVALUATOR_VERSION, Result

__all__ = ["DEFAULT_DATABASE", "Entry", "EvaluationKey", "Store", "StoreError", "StoredEvaluation"]

logger = logging.getLogger(__name__)

LOOKUP = 500
"""Submissions per query."""
_PAGE = 20_000
"""Rows of a few columns per read."""


class Store(Database):
    """The evaluations of a database; a context manager. Safe to share between threads, not between a process and its fork."""

    def __init__(self, engine: Engine, address: Address, read_only: bool) -> None:
        super().__init__(engine, address, read_only)
        self._run_id: int | None = None
        self._spool = Spool(address)
        self._saving = threading.Lock()
        self._refused = False
        self._dimensions = Dimensions()
        self._environments: dict[str, dict[str, Any]] = {}
        self.recovered = 0
        """Number of earlier runs' results imported from spool files when this store was opened."""

    @classmethod
    def open(cls, url: str = DEFAULT_DATABASE, *, read_only: bool = False, history: History = HISTORY) -> Self:
        """Open the database of a SQLAlchemy URL, and bring its tables up to date.

        A missing SQLite file is created, unless `read_only`.

        Raises StoreError if that fails: no such folder, no permission, no server, not a database, a newer version's database.
        """
        address = Address.parse(url)
        address.check(read_only)
        engine = make_engine(address)
        store = cls(engine, address, read_only)
        try:
            ensure_current(engine, address, history)
            if not read_only:
                store._add_categories()
                store._make_index()
                store._recover()
                store._spool.reserve()
        except SQLAlchemyError as error:
            engine.dispose()
            raise StoreError(f"{address.name} can't be used: {cause(error)}. {way_out(error)}") from error
        except StoreError:
            engine.dispose()
            raise
        return store

    def close(self) -> None:
        """Close all connections; the store can't be used afterwards."""
        if self._run_id is not None:
            self._note_run("the end of the run", finished_at=datetime.now(UTC))
            self._run_id = None
        self._spool.close()
        super().close()

    def start_run(self, words: Sequence[str], expected: int | None = None) -> None:
        """Begin a run: all evaluations saved until the store is closed belong to it. Raises StoreError.

        words: the command's words; passwords in them are not stored.

        expected: number of the run's submissions, if known; `expect` corrects it later.
        """
        command = RunCommand(tuple(map(without_password, words)), EVALUATOR_VERSION, datetime.now(UTC), expected=expected)
        with self.change() as connection:
            self._run_id = save_run(connection, command)

    @property
    def run_id(self) -> int | None:
        """Number of the run begun by `start_run`."""
        return self._run_id

    def expect(self, count: int | None) -> None:
        """Store the number of the run's submissions, to show its progress. A failure is only logged."""
        self._note_run("how much the run has to do", expected=count)

    def skip(self, evaluation_ids: Sequence[int]) -> None:
        """Store the evaluations of already judged submissions. A failure is only logged."""
        skips = [{"run_id": self._run_id, "evaluation_id": number} for number in dict.fromkeys(evaluation_ids)]

        def note(connection: Connection) -> None:
            self._update_run(connection, skipped=RunRow.skipped + len(evaluation_ids))
            connection.execute(upsert(connection, SkipRow).on_conflict_do_nothing(), skips)

        if skips:
            self._note("what the run has skipped", note)

    def _note_run(self, what: str, **values: Any) -> None:
        self._note(what, lambda connection: self._update_run(connection, **values))

    def _update_run(self, connection: Connection, **values: Any) -> None:
        connection.execute(update(RunRow).where(RunRow.id == self._run_id).values(values))

    def _note(self, what: str, change: Callable[[Connection], None]) -> None:
        try:
            with self.change() as connection:
                change(connection)
        except StoreError as error:
            # If results could not be stored either, that was reported, and matters more.
            logger.log(logging.INFO if self._refused else logging.WARNING, "%s could not be stored: %s", what, error)

    def save(self, result: Result, source: str, problem_source: str | None = None) -> int:
        """Store one evaluation in one transaction and return its id; it is durable when this returns.

        Earlier rows are kept as history.

        `source` is cut at `MAX_SOURCE_BYTES`. Invalid Unicode in a text is stored as escapes.

        Raises StoreError if the row can't be written. If the row itself is at fault, nothing of it is stored; otherwise it
        is in a spool file, and the message says so.
        """
        return self.save_all([Entry(result, source, problem_source)])[0]

    def save_all(self, entries: Iterable[Entry], also: Callable[[Connection, list[int]], None] | None = None) -> list[int]:
        """As `save`, all in one transaction: waiting for the disk, which costs most, happens once. Returns the ids in the given order.

        also: a further part of the transaction, called with the connection and the ids; its exceptions roll all back. With it there is no
        spool file, which would hold only half of the transaction.
        """
        items = [_storable(entry) for entry in entries]
        if not items:
            return []
        try:
            return self._save_prepared([PreparedEntry.of(item, self._environments) for item in items], also)
        except SQLAlchemyError as error:
            failure = self._write_error(error)
            if also is not None or not is_outage(error):
                raise failure from error
            raise self._spooled(items, failure) from error

    def _save_prepared(self, items: Sequence[PreparedEntry], also: Callable[[Connection, list[int]], None] | None = None) -> list[int]:
        """Raises SQLAlchemyError."""

        def transaction() -> list[int]:
            with self._write() as connection:
                numbers = write(connection, items, self._run_id, self._dimensions)
                if also is not None:
                    also(connection, numbers)
            return numbers

        with self._saving:
            remembered = bool(self._dimensions)
            try:
                try:
                    numbers = transaction()
                except IntegrityError:
                    self._dimensions.forget()
                    if not remembered:
                        raise
                    # Another process may have removed rows that this store remembers.
                    numbers = transaction()
            except BaseException:
                self._dimensions.drop()
                raise
            self._dimensions.keep()
        return numbers

    def _spooled(self, items: Sequence[Entry], failure: StoreError) -> StoreError:
        self._refused = True
        try:
            places = {self._spool.add(item) for item in items}
        except OSError as error:
            return StoreError(f"{failure} {len(items)} result(s) could not be kept in a file either: {error.strerror}.")
        kept = ", ".join(str(place) for place in sorted(places))
        return StoreError(f"{failure} {len(items)} result(s) are kept in {kept}, which the next run imports.")

    def add_missing(self, items: Sequence[Entry]) -> int:
        """Store all that are not stored yet, and the new origins of those that are, in one transaction; returns the number of stored
        ones. Raises StoreError."""
        items = [_storable(item) for item in items]
        digests = [rows.digest(item.result) for item in items]
        with self.change() as connection:
            known: dict[bytes, int] = {}
            for start in range(0, len(digests), LOOKUP):
                row = EvaluationRow
                query = select(row.digest, row.id).where(row.digest.in_(digests[start : start + LOOKUP]))
                known |= {bytes(digest): number for digest, number in connection.execute(query)}
            missing: dict[bytes, Entry] = {}
            for digest, item in zip(digests, items, strict=True):
                if digest not in known:
                    before = missing[digest].origins if digest in missing else ()
                    missing[digest] = replace(item, origins=(*before, *item.origins))
            write(connection, [PreparedEntry.of(item, {}) for item in missing.values()], self._run_id, Dimensions())
            again = [(known[digest], item) for digest, item in zip(digests, items, strict=True) if digest in known]
            add_origins(connection, [(None, number, origin) for number, item in again for origin in item.origins])
        return len(missing)

    def get(self, evaluation_id: int) -> StoredEvaluation | None:
        """The evaluation with this id, or None. Raises StoreError if this version can't read it."""
        with self.read() as connection:
            row = connection.execute(ONE, {"number": evaluation_id}).mappings().one_or_none()
            return None if row is None else stored(connection, row)

    @property
    def newest_id(self) -> int | None:
        """The id of the evaluation that was stored last; None if there is none."""
        with self.read() as connection:
            return connection.execute(select(func.max(EvaluationRow.id))).scalar_one()

    def each(self, after: int = 0, where: Sequence[Any] = ()) -> Iterator[StoredEvaluation]:
        """All evaluations that meet the conditions, history included, in the order of storing. Raises StoreError."""
        while True:
            with self.read() as connection:
                query = everything().where(EvaluationRow.id > after, *where).order_by(EvaluationRow.id).limit(LOOKUP)
                found = [stored(connection, row) for row in connection.execute(query).mappings().all()]
            yield from found
            if len(found) < LOOKUP:
                return
            after = found[-1].id

    def count(self, where: Sequence[Any] = ()) -> int:
        """Number of evaluations that meet the conditions, history included."""
        with self.read() as connection:
            return connection.execute(select(func.count()).select_from(EvaluationRow).where(*where)).scalar_one()

    def judged_among(self, keys: Iterable[EvaluationKey]) -> dict[EvaluationKey, int]:
        """The keys that need not be judged again, each with the id of its evaluation.

        The cost depends only on the number of keys. A timed evaluation also answers for an untimed one, but not the reverse.
        Only a submission's latest evaluation counts: a file that was changed, judged, and changed back is judged again, so that
        the leaderboard shows the file's current content.
        """
        wanted = set(keys)
        names = iter({key.submission for key in wanted})
        found: dict[EvaluationKey, int] = {}
        with self.read() as connection:
            while batch := list(islice(names, LOOKUP)):
                for key, number in reading.keys(connection, batch):
                    found.update((each, number) for each in (key.untimed, key) if each in wanted)
        return found

    def summaries(self, columns: Sequence[str], where: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Columns of all evaluations that meet the conditions, in the order of ids. Raises StoreError.

        columns: named as in `db.storage.reading.summary_columns`.
        """
        known = summary_columns()
        query = (
            everything().with_only_columns(EvaluationRow.id, *(known[name] for name in columns), maintain_column_froms=True).where(*where)
        )
        after = 0
        while True:
            with self.read() as connection:
                page = query.where(EvaluationRow.id > after).order_by(EvaluationRow.id).limit(_PAGE)
                found = connection.execute(page).all()
            for _, *values in found:
                yield tuple(values)
            if len(found) < _PAGE:
                return
            after = found[-1][0]

    def _add_categories(self) -> None:
        wanted = {category.value: info.status.value for category, info in CATEGORIES.items()}
        with self.read() as connection:
            known = set(connection.execute(select(CategoryRow.name)).scalars())
        missing = [{"name": name, "status": status} for name, status in wanted.items() if name not in known]
        if missing:
            with self.change() as connection:
                connection.execute(upsert(connection, CategoryRow).on_conflict_do_nothing(), missing)

    def _make_index(self) -> None:
        with self.read() as connection:
            due = text_index.is_due(connection)
        if due:
            with self.change() as connection:
                text_index.make(connection)

    def _recover(self) -> None:
        """Import the spool files of ended runs."""
        for path in spool.left_behind(self._address):
            try:
                with spool.taken(path) as items:
                    if items:
                        self.recovered += self.add_missing(items)
            except StoreError as error:
                if isinstance(error.__cause__, SQLAlchemyError) and is_outage(error.__cause__):
                    raise
                spool.refuse(path, error)


def _storable(item: Entry) -> Entry:
    result = rows.storable_result(item.result)
    return item if result is item.result else replace(item, result=result)
