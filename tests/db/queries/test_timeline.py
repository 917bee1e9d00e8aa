"""Counts over time."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from db.queries.evaluations import Choice
from db.queries.filters import Filters
from db.queries.leaderboard import failures
from db.queries.runs import of_ids
from db.queries.timeline import ORDERS, Timeline
from db.store import Store
from evaluator.results.category import Category, Status
from tests.db.queries.conftest import BOTH
from tests.db.samples import result

ALL = Choice()
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
    assert timeline.page(ALL, 10) == (1, [first])
    second = save(store, Category.TIMEOUT, 1, "a")
    third = save(store, Category.NO_DEVICE, 2, "b")
    assert timeline.page(ALL, 10) == (3, [third, second, first])
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


def test_evaluations_come_in_parts(store: Store) -> None:
    ids = [save(store, Category.TIMEOUT if number % 2 else Category.OK, number, f"{number}") for number in range(6)]
    timeline = Timeline(store)
    assert timeline.page(ALL, 2) == (6, [ids[5], ids[4]])
    assert timeline.page(ALL, 2, 2) == (6, [ids[3], ids[2]])
    assert timeline.page(ALL, 2, descending=False) == (6, [ids[0], ids[1]])
    assert timeline.page(Choice(category=Category.TIMEOUT), 9) == (3, [ids[5], ids[3], ids[1]])
    assert timeline.page(Choice(category=Category.EARLY_EXIT), 9) == (0, [])
    assert timeline.page(Choice(status=Status.CORRECT), 9) == (3, [ids[4], ids[2], ids[0]])
    assert timeline.page(Choice(since=HOUR + timedelta(minutes=4)), 9) == (2, [ids[5], ids[4]])


@BOTH
def test_what_was_not_evaluated_stays_listed_in_its_run(store: Store) -> None:
    timeline = Timeline(store)
    store.start_run(["first"])
    waiting, other = save(store, Category.NO_DEVICE, 0, "a"), save(store, Category.NO_DEVICE, 0, "b")
    assert timeline.page(ALL, 9) == (2, [other, waiting])
    again = save(store, Category.OK, 1, "a")
    assert timeline.page(ALL, 9) == (3, [again, other, waiting])
    assert timeline.page(Choice(status=Status.NOT_EVALUATED, run_id=1), 9) == (2, [other, waiting])
    assert timeline.page(Choice(run_id=2), 9) == (0, [])
    assert timeline.counts() == {HOUR: Counter({Category.OK: 1})}


@BOTH
def test_evaluations_are_sorted_by_each_column_and_the_latest_of_equals_come_first(store: Store) -> None:
    kinds = (Category.OK, Category.TIMEOUT, Category.SYNTAX_ERROR, Category.OK, Category.NO_DEVICE)
    for number, category in enumerate(kinds):
        store.start_run([f"{number}"])
        names = {"author": (None, "bob", "ada", "eve", "bob")[number], "problem": ("q", "p", None, "p", "r")[number]}
        speedup = (2.5, None, None, 0.5, None)[number]
        save(store, category, -number, ("s", "a", "s", "x", "b")[number], speedup=speedup, source=f"{number}", **names)
    timeline = Timeline(store)
    rows = {row.evaluation_id: row for row in of_ids(store, timeline.page(ALL, 9)[1])}
    fields = {"evaluation": "evaluation_id", "device": "device_name", "run": "run_id", "started": "started_at"}
    for name in ORDERS:
        for descending in (False, True):
            total, found = timeline.page(ALL, 9, 0, name, descending=descending)
            values = [getattr(rows[number], fields.get(name, name)) for number in found]
            known = [value for value in values if value not in (None, "")]
            assert known == sorted(known, reverse=descending) == values[: len(known)], (name, descending)
            assert total == 5 == len(set(found))
            for first in range(5):
                assert timeline.page(ALL, 2, first, name, descending=descending)[1] == found[first : first + 2], name
    assert timeline.page(ALL, 2, 0, "author", descending=False)[1] == [3, 5]
    assert timeline.page(ALL, 2, 0, "problem", descending=False)[1] == [4, 2]


def test_many_are_not_sorted_by_their_names(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [save(store, Category.OK, number, name) for number, name in enumerate("cab")]
    timeline = Timeline(store)
    assert timeline.page(ALL, 3, 0, "submission", descending=False)[1] == [ids[1], ids[2], ids[0]]
    monkeypatch.setattr("db.queries.timeline.MOST_NAMED", 2)
    assert timeline.page(ALL, 3, 0, "submission")[1] == ids[::-1]
