"""Looking for damage, and removing what is without use; calibrations."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from db.calibrations import newest, save
from db.queries.leaderboard import leaderboard
from db.store import Store
from db.upkeep import check, collect, repair
from evaluator.results.calibration import Calibration, Ceiling
from evaluator.results.category import Category
from tests.db.conftest import BOTH
from tests.db.samples import PROBLEM_SOURCE, full_evidence, result

pytestmark = pytest.mark.slow(10)


def change(store: Store, statement: str) -> None:
    with store.change() as connection:
        connection.exec_driver_sql(statement)


def count(store: Store, table: str) -> Any:
    with store.read() as connection:
        return connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()


@pytest.fixture
def filled(store: Store) -> Store:
    store.save(result(submission="a", evidence=full_evidence()), "class ModelNew: ...\n", PROBLEM_SOURCE)
    store.save(result(Category.TIMEOUT, submission="a"), "class ModelNew: ...\n", PROBLEM_SOURCE)
    store.save(result(submission="b"), "class ModelNew: ...\n", PROBLEM_SOURCE)
    assert check(store, deep=True) == []
    return store


DAMAGES = {
    "UPDATE evaluations SET is_current = true WHERE id = 1": "is_current is wrong for evaluation 1",
    "UPDATE evaluations SET is_ranked = false WHERE id = 3": "is_ranked is wrong for evaluation 3",
    "UPDATE tallies SET count = 7 WHERE category = 'ok'": "tallies misses (1, 1, 'ok')",
    "DELETE FROM tallies WHERE category = 'timeout'": "tallies misses (1, 1, 'timeout')",
    "UPDATE standings SET speedup = 99": "standings should not have (1, 1, 3)",
    "UPDATE totals SET count = 7 WHERE category = 'ok'": "totals misses (1, 'ok', 1)",
    "DELETE FROM standings": "standings misses (1, 1, 3)",
}
"""What is changed behind the store's back, and what `check` says of it."""


@BOTH
def test_what_does_not_follow_from_the_evaluations_is_told_and_repaired(filled: Store) -> None:
    for damage, told in DAMAGES.items():
        change(filled, damage)
        assert told in "; ".join(check(filled)), damage
        repair(filled)
        assert check(filled) == [], damage
        assert [row.evaluation_id for row in leaderboard(filled)] == [3], damage


@BOTH
def test_a_board_with_copies_is_marked(store: Store) -> None:
    for author in ("ada", "bob"):
        store.save(result(submission=author, author=author), "class ModelNew: ...\n", PROBLEM_SOURCE)
    assert check(store) == []
    change(store, "UPDATE boards SET has_copies = false")
    assert check(store) == ["has_copies is wrong for board 1"]
    repair(store)
    assert check(store) == []


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE sources SET text = 'another'", "is not what its hash says"),
        ("UPDATE timings SET more = '{' WHERE side = 'baseline'", "Evaluation 1 can't be read"),
        ("UPDATE rounds SET more = '{\"surprise\": 1}'", "Evaluation 1 can't be read"),
    ],
)
def test_a_deep_check_reads_everything(filled: Store, damage: str, told: str) -> None:
    change(filled, damage)
    assert check(filled) == []
    assert told in "; ".join(check(filled, deep=True))


def test_a_damaged_file_is_told(store: Store) -> None:
    for number in range(200):
        store.save(result(submission=str(number)), "class ModelNew: ...\n")
    change(store, "PRAGMA ignore_check_constraints = ON")
    path = store.path
    store.compact()
    with path.open("r+b") as file:
        # An index's page: the file can be opened, and the index is not what the table says.
        size = path.stat().st_size
        file.seek(size - 3 * 4096)
        file.write(bytes(4096))
    with Store.open(f"sqlite:///{path}", read_only=True) as reader:
        assert any("damaged" in fault for fault in check(reader))


@BOTH
def test_what_nothing_refers_to_is_removed(store: Store) -> None:
    store.save(result(Category.NO_DEVICE, source="gone", submission="a", author="zoe", problem="p2", case="other"), "gone", PROBLEM_SOURCE)
    store.save(result(submission="b"), "class ModelNew: ...\n", PROBLEM_SOURCE)
    change(store, "DELETE FROM tallies WHERE category = 'no_device'")
    change(store, "DELETE FROM totals WHERE category = 'no_device'")
    change(store, "DELETE FROM evaluations WHERE category = 'no_device'")
    removed = collect(store)
    names = ("boards", "submissions", "authors", "sources", "environments", "runs", "cases", "problems")
    assert removed == dict.fromkeys(names, 1) | {"environments": 0, "runs": 0}
    assert check(store, deep=True) == [] and store.count() == 1
    assert set(collect(store).values()) == {0}


def test_space_is_given_back_and_a_store_that_remembers_what_was_removed_saves_all_the_same(store: Store, url: str) -> None:
    text = "gone" * 100_000
    for number in range(8):
        made = result(Category.NO_DEVICE, text + str(number), submission="a", author="zoe", problem="p2")
        store.save(made, text + str(number), PROBLEM_SOURCE)
    before = size(store.path)
    with Store.open(url) as other:
        for table in ("tallies", "totals", "evaluations"):
            change(other, f"DELETE FROM {table}")
        collect(other)
        other.save(result(submission="c", author="eve", problem="p3"), "class ModelNew: ...\n", PROBLEM_SOURCE)
    number = store.save(result(submission="b", author="zoe", problem="p2", speedup=2.0), "class ModelNew: ...\n", PROBLEM_SOURCE)
    stored = store.get(number)
    assert stored is not None and (stored.result.author, stored.result.problem) == ("zoe", "p2")
    assert check(store, deep=True) == [] and size(store.path) < before / 2


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(path.name + "*") if "spool" not in file.name)


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)

GPU = "GPU-00000000-0000-0000-0000-000000000001"


def calibration(minutes: int = 0, rate: float = 4.25e12, **changes: Any) -> Calibration:
    fields: dict[str, Any] = {"device_id": GPU, "device_name": "NVIDIA H200", "driver": "580.1", "torch": "2.11.0"}
    ceilings = (Ceiling(name="copy", per_s=rate, uncertainty=0.0125), Ceiling(name="bfloat16", per_s=7.5e14, uncertainty=0.0))
    return Calibration(**fields | changes, measured_at=NOON + timedelta(minutes=minutes), repetitions=5, ceilings=ceilings)


def by_name(found: Calibration) -> dict[str, Ceiling]:
    return {ceiling.name: ceiling for ceiling in found.ceilings}


@BOTH
def test_what_was_stored_comes_back(store: Store) -> None:
    stored = calibration()
    save(store, stored)
    (found,) = newest(store, [GPU])
    assert by_name(found) == by_name(stored)
    assert found.model_copy(update={"ceilings": ()}) == stored.model_copy(update={"ceilings": ()})
    assert newest(store, ["cpu"]) == () and newest(store, []) == ()
    collect(store)
    assert len(newest(store, [GPU])) == 1 and check(store, deep=True) == [], "nothing has to refer to it"


def test_the_newest_under_each_software_counts_whatever_the_order_of_storing(store: Store) -> None:
    for each in (calibration(2, 2e12), calibration(1, 1e12), calibration(0, 3e12, driver="590.0"), calibration(3, 5e12, device_id="cpu")):
        save(store, each)
    found = newest(store, [GPU])
    assert [(each.driver, by_name(each)["copy"].per_s) for each in found] == [("580.1", 2e12), ("590.0", 3e12)]
    assert len(newest(store, [GPU, "cpu"])) == 3
