"""Counts over time."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from db.queries.filters import Filters
from db.queries.leaderboard import failures
from db.queries.timeline import Timeline
from db.store import Store
from evaluator.results.category import Category
from tests.db.queries.conftest import BOTH
from tests.db.samples import result

SOURCE = "class ModelNew: ...\n"
HOUR = datetime(2026, 3, 1, 10, tzinfo=UTC)


def save(store: Store, category: Category, minutes: float, name: str, **changes: Any) -> int:
    return store.save(result(category, submission=name, started_at=HOUR + timedelta(minutes=minutes), **changes), SOURCE)


@BOTH
def test_evaluations_are_counted_in_the_hour_in_which_they_began(store: Store) -> None:
    timeline = Timeline(store)
    assert timeline.counts() == {}
    save(store, Category.OK, 0, "a")
    save(store, Category.TIMEOUT, 59.9, "b")
    save(store, Category.TIMEOUT, 60, "c")
    assert timeline.counts() == {
        HOUR: Counter({Category.OK: 1, Category.TIMEOUT: 1}),
        HOUR + timedelta(hours=1): Counter({Category.TIMEOUT: 1}),
    }


@BOTH
def test_what_comes_later_is_added_and_history_stays(store: Store) -> None:
    timeline = Timeline(store)
    first = save(store, Category.OK, 0, "a")
    assert timeline.latest(10) == (1, [first])
    second = save(store, Category.TIMEOUT, 1, "a")
    save(store, Category.NO_DEVICE, 2, "b")
    assert timeline.latest(10) == (2, [second, first])
    assert timeline.counts() == {HOUR: Counter({Category.OK: 1, Category.TIMEOUT: 1})}


@BOTH
def test_filters_are_those_of_failures(store: Store) -> None:
    save(store, Category.TIMEOUT, 0, "a", author="ada")
    save(store, Category.TIMEOUT, 0, "b", author="bob", problem="gelu")
    save(store, Category.SYNTAX_ERROR, 0, "c", author="bob", problem="gelu")
    timeline = Timeline(store)
    for names in (
        {"author": "ada"},
        {"author": "nobody"},
        {"problem": "gelu"},
        {"device": "NVIDIA H200"},
        {"device": "CPU"},
        {"case": "full", "author": "bob"},
        {"precision": "float16"},
    ):
        counted: Counter[Category] = Counter()
        for found in timeline.counts(Filters(**names)).values():
            counted.update(found)
        assert counted == {item.category: item.count for item in failures(store, Filters(**names)).counts}, names


def test_the_latest_come_in_parts(store: Store) -> None:
    ids = [save(store, Category.TIMEOUT if number % 2 else Category.OK, number, f"{number}") for number in range(6)]
    timeline = Timeline(store)
    assert timeline.latest(2) == (6, [ids[5], ids[4]])
    assert timeline.latest(2, 2) == (6, [ids[3], ids[2]])
    assert timeline.latest(9, category=Category.TIMEOUT) == (3, [ids[5], ids[3], ids[1]])
    assert timeline.latest(9, category=Category.EARLY_EXIT) == (0, [])
