"""Runs, their results over time, and the search for a few letters."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from db.list_options import ORDERS
from db.queries.evaluations import Choice
from db.queries.filters import Filters
from db.queries.leaderboard import failures
from db.queries.runs import arrivals, came_between, newest, of_ids, run, runs
from db.queries.search import Found, search
from db.queries.timeline import Intervals, Timeline
from db.store import Store
from evaluator.results.category import Category, Status
from tests.db.conftest import BOTH
from tests.db.samples import SOURCE, result

pytestmark = pytest.mark.slow(15)


@BOTH
def test_a_run_is_counted_by_status_while_it_works_and_after(store: Store, url: str) -> None:
    store.save(result(submission="of no run.py"), SOURCE)
    with Store.open(url) as working:
        working.start_run(["pipeline.py", "submissions"])
        working.save(result(submission="right.py"), SOURCE)
        working.save(result(Category.TIMEOUT, submission="late.py"), SOURCE)
        (under_way,) = runs(store, 5)
        assert under_way.words == ("pipeline.py", "submissions") and under_way.finished_at is None
        assert under_way.statuses == {"correct": 1, "run_failed": 1}
        assert runs(store, 5, counted=False)[0].statuses == {}
        assert under_way.expected is None
        working.expect(7)
        assert [found.expected for found in runs(store, 5)] == [7]
        working.expect(2)
    finished = run(store, under_way.id)
    assert finished is not None and finished.finished_at is not None and finished.finished_at >= finished.started_at
    assert finished.expected == 2
    assert run(store, under_way.id + 1) is None


@BOTH
def test_the_count_of_a_run_never_shrinks(store: Store, url: str) -> None:
    with Store.open(url) as first:
        first.start_run(["first"], 3)
        right = first.save(result(submission="right.py"), SOURCE)
        for name in ("a.py", "b.py"):
            first.save(result(Category.NO_DEVICE, submission=name), SOURCE)
    with Store.open(url) as second:
        second.start_run(["second"], 3)
        second.save(result(submission="a.py"), SOURCE)
        second.save(result(submission="b.py"), SOURCE)
        second.skip([right])
    found = [(run.expected, run.skipped, run.statuses) for run in runs(store, 2)]
    assert found == [(3, 1, {"correct": 2}), (3, 0, {"correct": 1, "not_evaluated": 2})]


def test_arrivals_are_those_between_two_ids_newest_first(store: Store) -> None:
    assert newest(store) == 0 and arrivals(store, 5) == ()
    ids = [store.save(result(submission=f"{number}.py", block=number), SOURCE) for number in range(1, 6)]
    assert newest(store) == ids[-1]
    assert [row.evaluation_id for row in arrivals(store, 2)] == [ids[4], ids[3]]
    assert [row.evaluation_id for row in arrivals(store, 9, after=ids[0], before=ids[3])] == [ids[2], ids[1]]
    assert arrivals(store, 9, run_id=1) == ()
    (row,) = of_ids(store, [ids[1]])
    assert (row.submission, row.block, row.author, row.problem, row.status, row.category) == ("2.py", 2, "ada", "softmax", "correct", "ok")
    assert row.device_name == "NVIDIA H200" and row.speedup == 2.0 and row.run_id is None


def test_what_came_between_is_counted_for_each_run(store: Store, url: str) -> None:
    store.save(result(submission="of no run.py"), SOURCE)
    with Store.open(url) as working:
        working.start_run(["first"])
        before = working.save(result(submission="before.py"), SOURCE)
        working.save(result(submission="a.py"), SOURCE)
        last = working.save(result(Category.TIMEOUT, submission="b.py"), SOURCE)
        working.save(result(submission="after.py"), SOURCE)
    (found,) = runs(store, 1)
    assert came_between(store, before, last) == {found.id: Counter(correct=1, run_failed=1)}


ALL = Choice()


HOUR = datetime(2026, 3, 1, 10, tzinfo=UTC)


def save(store: Store, category: Category, minutes: float, name: str, **changes: Any) -> int:
    return store.save(result(category, submission=name, started_at=HOUR + timedelta(minutes=minutes), **changes), SOURCE)


def test_evaluations_are_counted_in_the_interval_in_which_they_began(store: Store) -> None:
    timeline = Timeline(store)
    assert timeline.counts().counts == {}
    save(store, Category.OK, 0, "a")
    save(store, Category.TIMEOUT, 59.9, "b")
    save(store, Category.TIMEOUT, 601, "c")
    save(store, Category.NO_DEVICE, 1e6, "d")
    hour = timedelta(hours=1)
    assert timeline.counts() == Intervals(
        hour, {HOUR: Counter({Category.OK: 1, Category.TIMEOUT: 1}), HOUR + 10 * hour: Counter({Category.TIMEOUT: 1})}
    )


@pytest.mark.parametrize(
    ("lasted", "length"),
    [
        (timedelta(0), timedelta(seconds=1)),
        (timedelta(seconds=61), timedelta(seconds=10)),
        (timedelta(minutes=50), timedelta(minutes=1)),
        (timedelta(hours=3), timedelta(minutes=10)),
        (timedelta(days=1), timedelta(hours=1)),
        (timedelta(days=10), timedelta(hours=6)),
        (timedelta(days=50), timedelta(days=1)),
        (timedelta(days=400), timedelta(days=7)),
        (timedelta(days=9000), timedelta(days=364)),
        (timedelta(days=30000), timedelta(days=364)),
    ],
)
def test_the_longer_evaluations_go_on_the_longer_is_an_interval(store: Store, lasted: timedelta, length: timedelta) -> None:
    for number in range(6):
        save(store, Category.TIMEOUT, lasted / timedelta(minutes=1) * number / 5, f"{number}")
    found = Timeline(store).counts()
    assert found.length == length and list(found.counts) == sorted(found.counts)
    assert sum(counted[Category.TIMEOUT] for counted in found.counts.values()) == 6
    first, last = min(found.counts), max(found.counts)
    assert first <= HOUR < first + length and last <= HOUR + lasted < last + length


def test_what_comes_later_is_added_and_history_stays(store: Store) -> None:
    timeline = Timeline(store)
    first = save(store, Category.OK, 0, "a")
    assert timeline.page(ALL, 10) == (1, [first])
    second = save(store, Category.TIMEOUT, 1, "a")
    third = save(store, Category.NO_DEVICE, 2, "b")
    assert timeline.page(ALL, 10) == (3, [third, second, first])
    assert list(timeline.counts().counts.values()) == [Counter({Category.OK: 1}), Counter({Category.TIMEOUT: 1})]


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
        for found in timeline.counts(Filters(**names)).counts.values():
            counted.update(found)
        assert counted == {item.category: item.count for item in failures(store, Filters(**names)).counts}, names


@BOTH
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


def test_what_was_not_evaluated_stays_listed_in_its_run(store: Store) -> None:
    timeline = Timeline(store)
    store.start_run(["first"])
    waiting, other = save(store, Category.NO_DEVICE, 0, "a"), save(store, Category.NO_DEVICE, 0, "b")
    assert timeline.page(ALL, 9) == (2, [other, waiting])
    again = save(store, Category.OK, 1, "a")
    assert timeline.page(ALL, 9) == (3, [again, other, waiting])
    assert timeline.page(Choice(status=Status.NOT_EVALUATED, run_id=1), 9) == (2, [other, waiting])
    assert timeline.page(Choice(run_id=2), 9) == (0, [])
    assert list(timeline.counts().counts.values()) == [Counter({Category.OK: 1})]


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


def put(store: Store, name: str, problem: str | None = "softmax", author: str | None = "ada") -> int:
    return store.save(result(submission=name, source=name, problem=problem, author=author), name)


@BOTH
def test_names_that_begin_so_come_before_those_that_hold_it(store: Store) -> None:
    for problem in ("log_softmax", "soft_plus_long", "softmax", "gelu"):
        put(store, f"{problem}.py", problem, f"team {problem}")
    found = search(store, " SOFT ", 9)
    assert found.problems == ("softmax", "soft_plus_long", "log_softmax")
    assert set(found.authors) == {"team softmax", "team soft_plus_long", "team log_softmax"}
    assert found.submissions == ("softmax.py", "soft_plus_long.py", "log_softmax.py"), "the latest first"
    assert found.count == 9 and len(search(store, "soft", 2).problems) == 2
    assert search(store, "log_softmax.py", 9).submissions == ("log_softmax.py",)


@BOTH
def test_signs_that_mean_something_to_a_database_are_letters(store: Store) -> None:
    signs = ("%", "_", "50%", "a_b", "\\", "'", '"', "/x", "é")
    for number, letters in enumerate(signs):
        put(store, f"one{number} [{letters}] two", f"one{number} [{letters}] two")
    put(store, "50 of them, aXb", "50 of them, aXb")
    for letters in signs:
        found = search(store, f"[{letters}]", 9)
        assert len(found.submissions) == len(found.problems) == 1, letters
        assert search(store, letters + "\x00\ud800", 9).evaluations == (), "nothing that can be typed breaks it"


@BOTH
def test_numbers_are_evaluations_and_runs(store: Store) -> None:
    store.start_run(["pipeline.py", 'a "quoted" folder', "--db", "sqlite:///a.db"])
    number = put(store, "a.py")
    assert [row.evaluation_id for row in search(store, f"#{number}", 9).evaluations] == [number]
    assert search(store, f"#{number}", 9).runs == ()
    both = search(store, "1", 9)
    assert [row.evaluation_id for row in both.evaluations] == [1] and [run.id for run in both.runs] == [1]
    assert search(store, "run 1", 9).evaluations == () and search(store, "run 1", 9).runs[0].id == 1
    for text in ("pipeline.py a", '"quoted"', "sqlite:///a"):
        assert [run.command for run in search(store, text, 9).runs] == ['pipeline.py a "quoted" folder --db sqlite:///a.db'], text
    assert search(store, "9999999999999999999", 9).count == 0


def test_categories_are_found_by_name_status_and_meaning(store: Store) -> None:
    assert search(store, "wrong val", 9).categories == (Category.WRONG_VALUES,)
    assert set(search(store, "build_failed", 99).categories) >= {Category.LINK_ERROR, Category.CUDA_COMPILE_ERROR}
    assert Category.NAN_OR_INF in search(store, "infinity", 9).categories


def test_what_is_called_like_nothing_gets_the_nearest_names(store: Store) -> None:
    put(store, "x.py", "softmax", "ada lovelace")
    assert search(store, "softmx", 9).nearest == ("softmax",)
    assert search(store, "ada lovelaec", 9).nearest == ("ada lovelace",)
    assert search(store, "  ", 9) == Found((), (), (), (), (), (), ())


def test_names_are_sorted_as_people_order_them(store: Store) -> None:
    for number, name in enumerate(("10_add.py", "9_add.py", "add.py", "9_add_2.py")):
        save(store, Category.TIMEOUT, number, name, source=name)
    assert Timeline(store).page(ALL, 9, 0, "submission", descending=False)[1] == [2, 4, 1, 3]
