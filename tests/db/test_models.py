"""Rows that could not be results are refused, whoever writes them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from db.store import Store
from evaluator.category import Category
from tests.db.samples import result


@pytest.fixture
def connection(store: Store) -> Iterator[sqlite3.Connection]:
    """A plain connection, with an ok evaluation 1 and a failed evaluation 2."""
    store.save(result(), "class ModelNew: ...\n", "problem")
    store.save(result(Category.TIMEOUT), "class ModelNew: ...\n", "problem")
    with closing(sqlite3.connect(store.path)) as opened:
        opened.execute("PRAGMA foreign_keys = ON")
        yield opened


@pytest.mark.parametrize(
    "change",
    [
        "runtime_ms = NULL WHERE id = 1",
        "runtime_ms = NULL, baseline_ms = NULL, speedup = NULL WHERE id = 1",
        "runtime_ms = -1 WHERE id = 1",
        "speedup = 9e999 WHERE id = 1",
        "runtime_ms = 1, baseline_ms = 1, speedup = 1 WHERE id = 2",
        "speedup = 1 WHERE id = 2",
        "status = 'correct' WHERE id = 2",
        "status = 'wonderful' WHERE id = 2",
        "category = 'wonderful' WHERE id = 2",
        "category = NULL WHERE id = 2",
        "status = NULL WHERE id = 2",
        "source_sha256 = 'none' WHERE id = 1",
        "environment_sha256 = 'none' WHERE id = 1",
        "problem = 'another' WHERE id = 1",
        "problem = NULL WHERE id = 1",
        "duration_s = -1 WHERE id = 1",
        "block = 0 WHERE id = 1",
        "submission = NULL WHERE id = 1",
        "evidence = NULL WHERE id = 1",
    ],
)
def test_an_impossible_evaluation_is_refused(connection: sqlite3.Connection, change: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(f"UPDATE evaluations SET {change}")


@pytest.mark.parametrize("table", ["sources", "problems", "environments", "categories"])
def test_what_evaluations_refer_to_can_not_be_deleted(connection: sqlite3.Connection, table: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(f"DELETE FROM {table}")


@pytest.mark.parametrize(
    "values",
    ["('short', 1, 'text')", f"('{'a' * 64}', 2, 'text')", f"('{'a' * 64}', 0, hex(zeroblob(600000)))", f"('{'a' * 64}', 0, NULL)"],
)
def test_an_impossible_source_is_refused(connection: sqlite3.Connection, values: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(f"INSERT INTO sources VALUES {values}")


def test_a_possible_change_is_allowed(connection: sqlite3.Connection) -> None:
    assert connection.execute("UPDATE evaluations SET author = NULL, block = 1, speedup = 3.5 WHERE id = 1").rowcount == 1


def test_ids_are_never_used_twice(connection: sqlite3.Connection, store: Store) -> None:
    connection.execute("DELETE FROM evaluations WHERE id = 2")
    connection.commit()
    assert store.save(result(), "class ModelNew: ...\n") == 3
