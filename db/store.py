"""The store: one evaluation in, one evaluation out.

A saved evaluation is on disk when `save` returns (SQLite with a write-ahead log and full synchronisation), and any number of processes may
save at once.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine, bindparam, create_engine, delete, event, insert, or_, select
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from db import DEFAULT_URL, rows
from db.current import current_evaluations
from db.error import StoreError
from db.models import CategoryRow, EnvironmentRow, EvaluationRow, ProblemRow, SourceRow
from db.rows import EvaluationKey
from db.upgrade import BUSY_TIMEOUT_S, HISTORY, History, ensure_current
from evaluator.category import CATEGORIES, Status
from evaluator.result import EVALUATOR_VERSION, Result

MAX_NAMES = 500
"""Submissions in one query; SQLite's bound on the number of variables is above it in every version."""

__all__ = ["DEFAULT_URL", "EvaluationKey", "Store", "StoreError", "StoredEvaluation"]


@dataclass(frozen=True)
class StoredEvaluation:
    """One evaluation as it was saved."""

    id: int
    result: Result
    source: str
    source_exact: bool
    """False where the source was cut, or is not UTF-8, so that the text does not hash to `result.source_sha256`."""
    problem_source: str | None


@dataclass(frozen=True)
class Entry:
    """One evaluation that is to be saved."""

    result: Result
    source: str
    problem_source: str | None = None


class Store:
    """An open database; a context manager. Safe to share between threads, not between a process and its fork."""

    def __init__(self, engine: Engine, path: Path, read_only: bool) -> None:
        self._engine = engine
        self._writer = engine.execution_options(write=True)
        self._path = path
        self._read_only = read_only

    @classmethod
    def open(cls, url: str = DEFAULT_URL, *, read_only: bool = False, history: History = HISTORY) -> Self:
        """Opens the database that a SQLAlchemy URL of a SQLite file names, and brings its tables up to date.

        A file that is not there is created, unless `read_only`.

        Raises StoreError where that can't be done: no such folder, no permission, not a database, a newer version's database.
        """
        parsed, path = _parse(url)
        _check_file(path, read_only)
        engine = create_engine(parsed, connect_args={"timeout": BUSY_TIMEOUT_S})
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", _begin)
        store = cls(engine, path, read_only)
        try:
            ensure_current(engine, path, history)
            if not read_only:
                store._add_categories()
        except SQLAlchemyError as error:
            engine.dispose()
            raise StoreError(f"{path} can't be used: {_cause(error)}. {_way_out(error)}") from error
        except StoreError:
            engine.dispose()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes every connection; the store can't be used afterwards."""
        self._engine.dispose()

    @property
    def path(self) -> Path:
        return self._path

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for queries, which all see the same state. Raises StoreError for errors of the database."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"{self._path} can't be read: {_cause(error)}. {_way_out(error)}") from error

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        if self._read_only:
            raise StoreError(f"{self._path} was opened for reading only.")
        try:
            with self._writer.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"{self._path} can't be written: {_cause(error)}. {_way_out(error)}") from error

    def save(self, result: Result, source: str, problem_source: str | None = None) -> int:
        """Stores one evaluation in one transaction and returns its id; it is durable when this returns.

        A `not_evaluated` row of the same submission, block, source, problem, case and device is replaced (what such a row leaves open,
        because it failed before its device or case was known, matches any); every other row is kept as history.

        `source` is cut at `MAX_SOURCE_BYTES`. Text that is not valid Unicode is stored with escapes in place of what can't be.

        Raises StoreError where the row can't be written; nothing of it is stored then.
        """
        return self.save_all([Entry(result, source, problem_source)])[0]

    def save_all(self, entries: Iterable[Entry]) -> list[int]:
        """As `save`, for several in their order and in one transaction: all are durable when this returns, or none is stored."""
        storable = [replace(entry, result=rows.storable_result(entry.result)) for entry in entries]
        if not storable:
            return []
        with self._write() as connection:
            return [_save(connection, entry) for entry in storable]

    def get(self, evaluation_id: int) -> StoredEvaluation | None:
        """The evaluation with this id; None where there is none. Raises StoreError where this version can't read it."""
        query = (
            select(
                *EvaluationRow.__table__.columns,
                SourceRow.text.label("source_text"),
                SourceRow.exact.label("source_exact"),
                ProblemRow.source.label("problem_text"),
                EnvironmentRow.json.label("environment_json"),
            )
            .join(SourceRow, SourceRow.sha256 == EvaluationRow.source_sha256)
            .outerjoin(ProblemRow, (ProblemRow.name == EvaluationRow.problem) & (ProblemRow.sha256 == EvaluationRow.problem_sha256))
            .outerjoin(EnvironmentRow, EnvironmentRow.sha256 == EvaluationRow.environment_sha256)
            .where(EvaluationRow.id == evaluation_id)
        )
        with self.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            return None
        return StoredEvaluation(
            id=evaluation_id,
            result=rows.result_of({str(name): value for name, value in row.items()}),
            source=row["source_text"],
            source_exact=bool(row["source_exact"]),
            problem_source=row["problem_text"],
        )

    def judged(self, key: EvaluationKey) -> bool:
        """Whether this has been judged, and no later evaluation of the submission has taken its place."""
        return key in self._keys(key.evaluator_version, [key.submission])

    def mentions(self, submission: str, source_sha256: str) -> bool:
        """Whether any evaluation of this submission with this source is stored; one that is not has certainly not been judged."""
        row = EvaluationRow
        known = select(row.id).where(row.submission == rows.storable_text(submission), row.source_sha256 == source_sha256).limit(1)
        with self.read() as connection:
            return connection.execute(known).first() is not None

    def judged_keys(self, evaluator_version: str = EVALUATOR_VERSION) -> frozenset[EvaluationKey]:
        """The keys of all that need not be judged again, in one query.

        Only the latest word on a submission counts: when a file was changed, judged, and changed back, it is judged once more, so that
        the leaderboard shows what is in the file.
        """
        return self._keys(evaluator_version, None)

    def judged_among(self, keys: Collection[EvaluationKey], evaluator_version: str = EVALUATOR_VERSION) -> frozenset[EvaluationKey]:
        """Those of `keys` that need not be judged again; as `judged_keys`, in time and memory that grow with `keys` alone."""
        names = sorted({key.submission for key in keys})
        found: set[EvaluationKey] = set()
        for start in range(0, len(names), MAX_NAMES):
            found |= self._keys(evaluator_version, names[start : start + MAX_NAMES])
        return frozenset(found.intersection(keys))

    def _keys(self, evaluator_version: str, submissions: Sequence[str] | None) -> frozenset[EvaluationKey]:
        given = () if submissions is None else (EvaluationRow.submission.in_(submissions),)
        current = current_evaluations(*given)
        columns = [getattr(EvaluationRow, name) for name in EvaluationKey.fields()]
        query = (
            select(*columns)
            .join(current, current.c.id == EvaluationRow.id)
            .where(EvaluationRow.status != Status.NOT_EVALUATED.value, EvaluationRow.evaluator_version == evaluator_version)
        )
        with self.read() as connection:
            return frozenset(EvaluationKey(*row) for row in connection.execute(query))

    def _add_categories(self) -> None:
        wanted = {category.value: info.status.value for category, info in CATEGORIES.items()}
        with self.read() as connection:
            known = set(connection.execute(select(CategoryRow.name)).scalars())
        missing = [{"name": name, "status": status} for name, status in wanted.items() if name not in known]
        if missing:
            with self._write() as connection:
                connection.execute(upsert(CategoryRow).on_conflict_do_nothing(), missing)


def _save(connection: Connection, entry: Entry) -> int:
    result = entry.result
    connection.execute(_SAVE_SOURCE, rows.source_values(result.source_sha256, entry.source))
    if result.problem is not None and result.problem_sha256 is not None:
        _save_problem(connection, result.problem, result.problem_sha256, entry.problem_source)
    if result.environment is not None:
        connection.execute(upsert(EnvironmentRow).values(rows.environment_values(result.environment)).on_conflict_do_nothing())
    connection.execute(_REPLACE, _replaced_by(result))
    number: int = connection.execute(_INSERT, rows.evaluation_values(result)).scalar_one()
    return number


_EVALUATIONS: Any = EvaluationRow.__table__
_INSERT = insert(_EVALUATIONS).returning(_EVALUATIONS.c.id)
"""Statements that are the same for all evaluations are put together and compiled once: to do so takes longer than to carry them out."""
_REPLACE = delete(_EVALUATIONS).where(
    _EVALUATIONS.c.status == Status.NOT_EVALUATED.value,
    _EVALUATIONS.c.submission == bindparam("of_submission"),
    _EVALUATIONS.c.block.is_not_distinct_from(bindparam("of_block")),
    _EVALUATIONS.c.source_sha256 == bindparam("of_source"),
    or_(_EVALUATIONS.c.problem.is_(None), _EVALUATIONS.c.problem == bindparam("of_problem")),
    or_(_EVALUATIONS.c.case.is_(None), _EVALUATIONS.c.case == bindparam("of_case")),
    or_(_EVALUATIONS.c.device_name == "", _EVALUATIONS.c.device_name == bindparam("of_device")),
)


def _replaced_by(result: Result) -> dict[str, Any]:
    return {
        "of_submission": result.submission,
        "of_block": result.block,
        "of_source": result.source_sha256,
        "of_problem": result.problem,
        "of_case": result.case,
        "of_device": rows.device_name(result),
    }


def _keep_better_source() -> Any:
    statement = upsert(SourceRow)
    better = {"text": statement.excluded.text, "exact": statement.excluded.exact}
    return statement.on_conflict_do_update(index_elements=["sha256"], set_=better, where=SourceRow.exact < statement.excluded.exact)


_SAVE_SOURCE = _keep_better_source()


def _save_problem(connection: Connection, name: str, sha256: str, source: str | None) -> None:
    text = None if source is None else rows.storable_text(source)
    statement = upsert(ProblemRow).values(name=name, sha256=sha256, source=text)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["name", "sha256"], set_={"source": statement.excluded.source}, where=ProblemRow.source.is_(None)
        )
    )


def _parse(url: str) -> tuple[URL, Path]:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StoreError(f"{url!r} is not a database URL. Write sqlite:///FILE, for example {DEFAULT_URL}.") from error
    if parsed.get_backend_name() != "sqlite":
        raise StoreError(f"{parsed.get_backend_name()} databases are not supported. Write sqlite:///FILE, for example {DEFAULT_URL}.")
    if not parsed.database or parsed.database.startswith((":memory:", "file:")):
        raise StoreError(
            f"A result must outlive the process, so the database is a plain file: write sqlite:///FILE, for example {DEFAULT_URL}."
        )
    return parsed, Path(parsed.database)


def _check_file(path: Path, read_only: bool) -> None:
    folder = path.absolute().parent
    if not folder.is_dir():
        raise StoreError(f"The folder {folder} of the database does not exist. Make it, or name another file with --db.")
    if path.is_dir():
        raise StoreError(f"{path} is a folder. Name a file in it with --db.")
    if read_only:
        if not path.exists():
            raise StoreError(
                f"There is no database {path}. Evaluate something first (python pipeline.py PATH), or name another file with --db."
            )
        return
    # SQLite keeps its log and lock beside the file, so that the folder has to be writable too.
    for needed in (folder, path) if path.exists() else (folder,):
        if not os.access(needed, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise StoreError(f"{needed} can't be written. Change its permissions, or name a file elsewhere with --db.")


def _configure(connection: Any, _entry: ConnectionPoolEntry) -> None:
    """Runs on every new connection. Transactions are begun by `_begin`: the driver's own way begins them too late."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: one that began as a reader and then writes fails at once when another was faster.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN")


def _cause(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error)


_MAKE_WRITABLE = (
    "SQLite keeps its log beside the file, even for reading: make the file and its folder writable, or copy the file elsewhere."
)
_WAYS_OUT = {
    "not a database": "Name another file with --db.",
    "malformed": "Restore a copy, or recover what is left with `sqlite3 FILE .recover`.",
    "unable to open": _MAKE_WRITABLE,
    "readonly": _MAKE_WRITABLE,
    "locked": f"Another process has held it for {BUSY_TIMEOUT_S:.0f} s: end that process, then run again.",
    "full": "Free some space on the disk, then run again.",
    "constraint": "The row contradicts itself; this is an error of the program that made it.",
}


def _way_out(error: SQLAlchemyError) -> str:
    cause = _cause(error)
    return next((way for sign, way in _WAYS_OUT.items() if sign in cause), "Name another file with --db.")
