"""An open database: connections, transactions, and their errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from db.address import Address
from db.connection import BESIDE, cause, way_out
from db.error import StoreError


class Database:
    """Connections to one database; a context manager. Safe to share between threads, not between a process and its fork."""

    def __init__(self, engine: Engine, address: Address, read_only: bool) -> None:
        self._engine = engine
        self._writer = engine.execution_options(write=True)
        self._beside = engine.execution_options(write=BESIDE)
        self._address = address
        self._read_only = read_only

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; the database can't be used afterwards."""
        self._engine.dispose()

    @property
    def name(self) -> str:
        """For people: the file, or the URL without its password."""
        return self._address.name

    @property
    def path(self) -> Path:
        """The file of a SQLite database. Raises StoreError for a server's."""
        if self._address.path is None:
            raise StoreError(f"{self.name} is not a file.")
        return self._address.path

    @property
    def address(self) -> Address:
        return self._address

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for queries, which all see the same state. Raises StoreError for database errors."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"{self.name} can't be read: {cause(error)}. {way_out(error)}") from error

    @contextmanager
    def change(self, *, beside: bool = False) -> Iterator[Connection]:
        """A connection whose changes are all stored, or none if the body raises. Raises StoreError.

        beside: no evaluation is changed, so this does not wait for writers of evaluations.
        """
        try:
            with self._write(beside) as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._write_error(error) from error

    @contextmanager
    def _write(self, beside: bool = False) -> Iterator[Connection]:
        if self._read_only:
            raise StoreError(f"{self.name} was opened for reading only.")
        with (self._beside if beside else self._writer).begin() as connection:
            yield connection

    def _write_error(self, error: SQLAlchemyError) -> StoreError:
        return StoreError(f"{self.name} can't be written: {cause(error)}. {way_out(error)}")

    def compact(self) -> None:
        """Free unused space, and update the query planner's statistics. Raises StoreError."""
        statements = ("ANALYZE", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)") if self._address.path is not None else ("VACUUM ANALYZE",)
        # These run outside a transaction, so the connection is not returned to the pool.
        raw = self._engine.raw_connection()
        try:
            if self._address.path is None:
                raw.driver_connection.autocommit = True  # type: ignore[union-attr]
            cursor = raw.cursor()
            for statement in statements:
                cursor.execute(statement)
            cursor.close()
        except self._engine.dialect.loaded_dbapi.Error as error:
            raise StoreError(f"{self.name} can't be compacted: {error}.") from error
        finally:
            raw.invalidate()
