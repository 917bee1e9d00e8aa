"""Upgrades a database to the newest revision when it is opened, and refuses one that it can't read."""

import logging
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine

from db.address import Address
from db.connection import BUSY_TIMEOUT_S
from db.error import StoreError
from db.migrations import REVISIONS
from db.storage import text_index
from db.storage.standing import rebuild
from evaluator.results.display.pace import Tell
from evaluator.results.display.progress import long_work

logger = logging.getLogger(__name__)

_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgresql": "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
}


@dataclass(frozen=True)
class History:
    """A folder of Alembic migrations and its revisions, oldest first."""

    folder: Path
    revisions: tuple[str, ...]

    @property
    def head(self) -> str:
        return self.revisions[-1]


HISTORY = History(Path(__file__).parent / "migrations", REVISIONS)


def ensure_current(engine: Engine, address: Address, history: History = HISTORY) -> None:
    """Create or upgrade the tables of the database; does nothing if they are current.

    An older SQLite file is first copied to `NAME.bak-REVISION` beside it. Of several processes that do this at once, one does the work.

    Raises StoreError for a database of a newer Assay or of another program.
    """
    with engine.connect() as connection:
        if _revision(connection, address, history) == history.head:
            return
    if address.path is not None:
        _use_write_ahead_log(address.path)
    with engine.execution_options(write=True).begin() as connection:
        revision = _revision(connection, address, history)
        if revision == history.head:
            return
        if revision is not None:
            kept = f"; the old database is kept as {_back_up(address.path, revision)}" if address.path is not None else ""
            logger.info("upgrading %s from revision %s to %s%s", address.name, revision, history.head, kept)
        due = history.revisions[0 if revision is None else history.revisions.index(revision) + 1 :]
        with long_work("Upgrading the database", len(due) + 1) as work:
            _run_migrations(connection, history, work.advance)
            if revision is not None:
                rebuild(connection)
            text_index.make(connection)


def _revision(connection: Connection, address: Address, history: History) -> str | None:
    """The tables' revision; None for an empty database."""
    tables = set(connection.exec_driver_sql(_TABLES[connection.dialect.name]).scalars())
    if not tables:
        return None
    if "alembic_version" not in tables:
        raise StoreError(f"{address.name} is another program's database (it has no alembic_version table). Name another one with --db.")
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
    if len(found) != 1 or found[0] not in history.revisions:
        raise StoreError(
            f"{address.name} is at revision {', '.join(map(str, found)) or '(none)'}, which this version of Assay does not know: the newest"
            f" that it knows is {history.head}. Use the newer Assay that wrote it, or name another database with --db."
        )
    return str(found[0])


def _use_write_ahead_log(path: Path) -> None:
    """Switch the file to WAL permanently. SQLite does not wait for other connections here, so this function waits."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise StoreError(
                    f"{path} can't be prepared for writing: {error}. Check its permissions, and end programs that use it."
                ) from error
            time.sleep(0.02)


def _back_up(path: Path, revision: str) -> Path:
    """Copy the database, log included, to the first free name of NAME.bak-REVISION, NAME.bak-REVISION.2, and so on."""
    plain = path.with_name(f"{path.name}.bak-{revision}")
    target, number = plain, 1
    while target.exists():
        number += 1
        target = plain.with_name(f"{plain.name}.{number}")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    return target


def _run_migrations(connection: Connection, history: History, tell: Tell) -> None:
    # Importing Alembic takes longer than the rest of opening, and is rarely needed.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(history.folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["tell"] = tell
    command.upgrade(config, history.head)
