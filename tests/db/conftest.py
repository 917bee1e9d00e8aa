"""Gives every test its own store: in SQLite, and for tests marked BOTH in PostgreSQL too."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import db.schema.evidence_models
import db.schema.queue_models  # noqa: F401 - the tables of both belong to the metadata
from db.schema.models import Base
from db.store import Store
from tests.db import server

BOTH = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
"""Asks both databases: about types, order, transactions, locks and constraints. `test_plans.py` has both explain every other statement."""


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A running server with a database `ready`, in which the tables are made."""
    if server.programs() is None:
        if server.REQUIRED in os.environ:
            pytest.fail(f"{server.REQUIRED} is set, and there is no PostgreSQL server on this machine")
        pytest.skip("no PostgreSQL server on this machine")
    with server.running() as home:
        Store.open(server.create(home, "ready")).close()
        yield home


@pytest.fixture(autouse=True)
def _state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'assay.db'}"


@pytest.fixture
def postgresql_url(postgresql: str) -> str:
    """The tables of `ready`, emptied: a database of its own for every test would take ten times as long."""
    with Store.open(server.url(postgresql, "ready")) as opened, opened.change() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            if table.name != "categories":
                connection.execute(table.delete())
        for sequence in connection.exec_driver_sql("SELECT sequencename FROM pg_sequences").scalars().all():
            connection.exec_driver_sql(f"SELECT setval('{sequence}', 1, false)")
    return server.url(postgresql, "ready")


@pytest.fixture(scope="session")
def ready_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with empty tables: a copy takes much less time than the migrations."""
    path = tmp_path_factory.mktemp("ready") / "assay.db"
    Store.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """A database that does not exist yet (SQLite), or has empty tables (PostgreSQL)."""
    found: str = request.getfixturevalue(f"{getattr(request, 'param', 'sqlite')}_url")
    return found


@pytest.fixture
def store(url: str, ready_file: Path) -> Iterator[Store]:
    if url.startswith("sqlite"):
        shutil.copy(ready_file, url.removeprefix("sqlite:///"))
    with Store.open(url) as opened:
        yield opened
