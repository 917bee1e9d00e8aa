"""A store of its own for every test, in SQLite and in PostgreSQL."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from db.store import Store
from tests.db import server

_numbers = count()


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
def postgresql_url(postgresql: str) -> Iterator[str]:
    name = f"test{next(_numbers)}"
    yield server.create(postgresql, name, "ready")
    server.drop(postgresql, name)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """A database that does not exist yet (SQLite), or has empty tables (PostgreSQL)."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as opened:
        yield opened


@pytest.fixture
def sqlite_store(sqlite_url: str) -> Iterator[Store]:
    with Store.open(sqlite_url) as opened:
        yield opened
