"""Runs and their results."""

from collections import Counter

import pytest

from db.queries.runs import arrivals, came_between, newest, of_ids, run, runs
from db.store import Store
from evaluator.results.category import Category
from tests.db.queries.conftest import BOTH
from tests.db.samples import result

SOURCE = "class ModelNew: ...\n"


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


def test_a_count_that_can_not_be_stored_stops_nothing(store: Store, url: str, caplog: pytest.LogCaptureFixture) -> None:
    with Store.open(url) as working:
        working.start_run(["pipeline.py"])
        working.expect(-1)
        assert "could not be stored" in caplog.text
        working.save(result(), SOURCE)
    assert [(found.expected, found.statuses) for found in runs(store, 1)] == [(None, {"correct": 1})]


def test_the_newest_runs_come_first(store: Store, url: str) -> None:
    for number in range(3):
        with Store.open(url) as working:
            working.start_run([str(number)])
    assert [found.words for found in runs(store, 2)] == [("2",), ("1",)]


@BOTH
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


@BOTH
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
