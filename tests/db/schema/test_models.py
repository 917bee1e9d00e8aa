"""The database refuses rows that could not be results."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError

from db.schema.evidence_models import (
    BaselineRow,
    BuildAttemptRow,
    BuildRow,
    DeviceStateRow,
    DiagnosticRow,
    ErrorRow,
    LaunchRow,
    LogRow,
    RoundRow,
    SampleRow,
    TimingRow,
)
from db.store import Store
from evaluator.results.category import Category
from tests.db.samples import full_evidence, result

PARTS = (
    *(RoundRow, ErrorRow, TimingRow, SampleRow, BaselineRow, BuildRow, BuildAttemptRow, DiagnosticRow, LaunchRow, LogRow, DeviceStateRow),
)


@pytest.fixture
def connection(store: Store) -> Iterator[Connection]:
    """A connection in a transaction that is taken back, with an ok evaluation 1 and a failed evaluation 2."""
    store.start_run(["pipeline.py"])
    store.save(result(evidence=full_evidence()), "class ModelNew: ...\n", "problem")
    store.save(result(Category.TIMEOUT, submission="b.py"), "class ModelNew: ...\n", "problem")
    with store._writer.connect() as opened:
        yield opened
        opened.rollback()


IMPOSSIBLE = [
    "runtime_ms = NULL WHERE id = 1",
    "runtime_ms = NULL, baseline_ms = NULL, speedup = NULL, speedup_low = NULL, speedup_high = NULL WHERE id = 1",
    "runtime_ms = -1 WHERE id = 1",
    "baseline_ms = 0 WHERE id = 1",
    "speedup_high = 1e301 WHERE id = 1",
    "runtime_ms = 1, baseline_ms = 1, speedup = 1, speedup_low = 1, speedup_high = 1 WHERE id = 2",
    "speedup = 1 WHERE id = 2",
    "speedup_low = speedup_high + 1 WHERE id = 1",
    "speedup_low = 0 WHERE id = 1",
    "speedup_high = speedup / 2 WHERE id = 1",
    "status = 'correct' WHERE id = 2",
    "status = 'wonderful' WHERE id = 2",
    "category = 'wonderful' WHERE id = 2",
    "category = NULL WHERE id = 2",
    "status = NULL WHERE id = 2",
    "is_ranked = true WHERE id = 2",
    "is_current = false WHERE id = 1",
    "is_current = NULL WHERE id = 1",
    "source_id = 99 WHERE id = 1",
    "environment_id = 99 WHERE id = 1",
    "board_id = 99 WHERE id = 1",
    "submission_id = 99 WHERE id = 1",
    "author_id = 99 WHERE id = 1",
    "run_id = 99 WHERE id = 1",
    "duration_s = -1 WHERE id = 1",
    "submission_id = NULL WHERE id = 1",
    "evidence = NULL WHERE id = 1",
    "digest = evidence WHERE id = 1",
]
CONTRADICTIONS = [
    "UPDATE submissions SET block = 0",
    "UPDATE submissions SET name = NULL",
    "UPDATE boards SET problem = 'another'",
    "UPDATE boards SET problem = NULL",
    "UPDATE boards SET \"case\" = 'another'",
    "UPDATE runs SET finished_at = '1999'",
    "UPDATE problems SET sha256 = 'short'",
    "UPDATE tallies SET count = -1",
    "UPDATE standings SET evaluation_id = 99",
    "UPDATE rounds SET passed = 2",
    "UPDATE rounds SET evaluation_id = 99",
    "UPDATE errors SET wrong = elements + 1",
    "UPDATE errors SET round = 7",
    "UPDATE builds SET ok = 1",
    "UPDATE diagnostics SET build = 7",
    "UPDATE logs SET characters = 0",
    "UPDATE baselines SET runtime_ms = 0",
]
NEEDED = ["sources", "problems", "cases", "environments", "categories", "authors", "submissions", "boards"]
SOURCES = [
    "('short', 1, 'text')",
    f"('{'a' * 64}', 2, 'text')",
    f"('{'a' * 64}', 0, '{'x' * ((4 << 20) + 1)}')",
    f"('{'a' * 64}', 0, NULL)",
]


@pytest.mark.parametrize(
    "statements",
    [
        [f"UPDATE evaluations SET {change}" for change in IMPOSSIBLE],
        CONTRADICTIONS,
        [f"DELETE FROM {table}" for table in NEEDED],
        [f"INSERT INTO sources (sha256, exact, text) VALUES {values}" for values in SOURCES],
    ],
    ids=["evaluations that can't be", "rows that contradict themselves", "what evaluations refer to", "sources that can't be"],
)
def test_what_could_not_be_is_refused(connection: Connection, statements: list[str]) -> None:
    for statement in statements:
        with pytest.raises(DBAPIError) as refused, connection.begin_nested():
            connection.exec_driver_sql(statement)
        assert isinstance(refused.value, IntegrityError) or "INSERT INTO sources" in statement, statement[:200]


def test_a_possible_change_is_allowed(connection: Connection) -> None:
    assert connection.exec_driver_sql("UPDATE evaluations SET device = NULL, speedup_high = 3.5 WHERE id = 1").rowcount == 1


def test_an_evaluation_takes_its_evidence_along(connection: Connection) -> None:
    counts = {model.__tablename__: f"SELECT count(*) FROM {model.__tablename__} WHERE evaluation_id = 1" for model in PARTS}
    assert {name for name, count in counts.items() if not connection.exec_driver_sql(count).scalar()} == set()
    connection.exec_driver_sql("DELETE FROM standings")
    connection.exec_driver_sql("DELETE FROM evaluations WHERE id = 1")
    assert {name for name, count in counts.items() if connection.exec_driver_sql(count).scalar()} == set()


def test_ids_are_never_used_twice(store: Store) -> None:
    store.save(result(), "class ModelNew: ...\n")
    number = store.save(result(Category.TIMEOUT, submission="b.py"), "class ModelNew: ...\n")
    with store.change() as connection:
        connection.exec_driver_sql(f"DELETE FROM evaluations WHERE id = {number}")
    assert store.save(result(), "class ModelNew: ...\n") == number + 1
