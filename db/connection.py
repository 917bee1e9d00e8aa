"""Connections: their settings, how transactions begin, and what a database error means for the user."""

import re
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from db.address import Address
from db.error import StoreError

BUSY_TIMEOUT_S = 30.0
"""Seconds that a process waits for another's write."""
CONNECT_TIMEOUT_S = 10
"""Seconds that a server may take to answer."""
BESIDE = "beside"
"""Value of the option `write` for changes that touch no evaluations: they don't wait for writers of evaluations."""
_WRITERS_LOCK = 0x417373617900
"""Key of the advisory lock that PostgreSQL's writers hold in turn; an arbitrary number."""


def make_engine(address: Address) -> Engine:
    """An engine with safe transactions: durable, foreign keys on, one writer at a time. It does not connect yet.

    With the execution option `write`, a transaction waits for its turn when it begins; with the value BESIDE it waits only for the
    database's own locks. Raises StoreError if the driver is missing.
    """
    if address.path is not None:
        engine = create_engine(address.url, connect_args={"timeout": BUSY_TIMEOUT_S})
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        engine = create_engine(address.url, connect_args={"connect_timeout": CONNECT_TIMEOUT_S}, pool_pre_ping=True)
    except ImportError as error:
        message = "PostgreSQL needs its driver: pip install -c constraints.txt -e '.[postgres]', or name a SQLite file with --db."
        raise StoreError(message) from error
    event.listen(engine, "begin", _begin_postgresql)
    return engine


def _configure_sqlite(connection: Any, _entry: ConnectionPoolEntry) -> None:
    """Configure a new connection. `_begin_sqlite` begins transactions, because the driver itself begins them too late."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: a reader that starts to write fails if another writer was faster.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN")


def _begin_postgresql(connection: Connection) -> None:
    """Writers take turns here too: derived values depend on all evaluations of a submission."""
    write = connection.get_execution_options().get("write")
    if write:
        connection.execute(text(f"SET LOCAL lock_timeout = '{BUSY_TIMEOUT_S:.0f}s'"))
        if write != BESIDE:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _WRITERS_LOCK})
    else:
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))


def cause(error: SQLAlchemyError) -> str:
    """The database's own message, on one line."""
    words = str(getattr(error, "orig", None) or error).strip()
    return words.splitlines()[0] if words else type(error).__name__


def is_outage(error: SQLAlchemyError) -> bool:
    """Whether the database is at fault (a full disk, a lock, a lost server), and not the row."""
    name = type(getattr(error, "orig", None)).__name__
    return isinstance(error, DBAPIError) and (error.connection_invalidated or name in _OUTAGES) and "constraint" not in cause(error)


_OUTAGES = {
    *("OperationalError", "DatabaseError", "InterfaceError", "DiskFull", "LockNotAvailable", "AdminShutdown", "ReadOnlySqlTransaction"),
    *("CannotConnectNow", "CrashShutdown", "TooManyConnections", "OutOfMemory", "InsufficientPrivilege", "DeadlockDetected"),
}
_MAKE_WRITABLE = (
    "SQLite keeps its log beside the file, even for reading: make the folder and the file writable, or name another file with --db."
)
_WAYS_OUT = {
    "not a database": "Name another file with --db.",
    "malformed": "Restore a copy, or recover what is left with `sqlite3 FILE .recover`.",
    "unable to open": _MAKE_WRITABLE,
    "readonly": _MAKE_WRITABLE,
    "locked": f"Another process has held it for {BUSY_TIMEOUT_S:.0f} s: end that process, then run again.",
    "lock timeout": f"Another process has held it for {BUSY_TIMEOUT_S:.0f} s: end that process, then run again.",
    "disk is full": "Free some space on the disk, or name a file elsewhere with --db.",
    "No space left": "Free some space on the server's disk, then run again.",
    "constraint": "The row contradicts itself; this is an error of the program that made it.",
    "does not exist": "Create it (createdb NAME), or name another with --db.",
    "authentication": "Put the right user and password into the URL, or into ~/.pgpass.",
    "resolve host": "See that the URL names the server.",
    "connection": "See that the server runs and that the URL names it.",
    "permission denied": "The user needs the right to create tables and to write them.",
}


def way_out(error: SQLAlchemyError) -> str:
    """One sentence about how to fix it."""
    words = re.sub(r'"[^"]*"', '""', cause(error))  # names and paths may hold anything
    return next((way for sign, way in _WAYS_OUT.items() if sign in words), "Name another database with --db.")
