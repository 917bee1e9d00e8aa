"""Problems, their versions and their best times."""

from datetime import timedelta
from typing import Any

from db.queries.problems import best_time_histories, problems, versions
from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import now
from tests.db.queries.conftest import BOTH
from tests.db.samples import PROBLEM_SOURCE, result, sha256

SOURCE = "class ModelNew: ...\n"


@BOTH
def test_problems_are_counted_by_name(store: Store) -> None:
    assert problems(store) == ()
    store.save(result(submission="a.py"), SOURCE)
    store.save(result(Category.TIMEOUT, submission="b.py"), SOURCE)
    store.save(result(Category.NO_DEVICE, submission="c.py"), SOURCE)
    store.save(result(submission="d.py", problem="gelu"), SOURCE)
    store.save(result(Category.UNKNOWN_PROBLEM, submission="e.py", problem=None), SOURCE)
    found = [(row.name, row.evaluations, row.ok, row.not_evaluated) for row in problems(store)]
    assert found == [("gelu", 1, 1, 0), ("softmax", 3, 1, 1)]


@BOTH
def test_the_version_that_was_evaluated_last_comes_first(store: Store) -> None:
    older, newer = PROBLEM_SOURCE, "class Model: pass\n"
    store.save(result(submission="a.py"), SOURCE, older)
    store.save(result(submission="b.py", case="small"), SOURCE, older)
    store.save(result(submission="a.py", problem_sha256=sha256(newer)), SOURCE, newer)
    first, second = versions(store, "softmax")
    assert (first.source, first.cases, first.evaluations) == (newer, ("full",), 1)
    assert (second.source, second.cases) == (older, ("full", "small"))
    assert first.last_id > second.last_id > 0
    assert versions(store, "nothing") == ()


@BOTH
def test_a_record_holds_what_was_faster_than_all_before(store: Store) -> None:
    start = now()
    for number, runtime_ms in enumerate((4.0, 5.0, 2.0, 2.0, 1.0)):
        times: dict[str, Any] = {"runtime_ms": runtime_ms, "baseline_ms": 8.0, "speedup": 8.0 / runtime_ms}
        times["started_at"] = start + timedelta(hours=number)
        store.save(result(submission=f"{number}.py", source=str(number), **times), str(number), PROBLEM_SOURCE)
    store.save(result(Category.TIMEOUT, submission="late.py"), SOURCE, PROBLEM_SOURCE)
    (record,) = best_time_histories(store, "softmax")
    assert (record.case, record.device_name, record.precision) == ("full", "NVIDIA H200", "own")
    assert [time.runtime_ms for time in record.times] == [4.0, 2.0, 1.0]
    assert [time.submission for time in record.times] == ["0.py", "2.py", "4.py"]
    assert record.times[-1].speedup == 8.0 and record.times[0].author == "ada" and record.times[0].started_at == start


def test_what_is_history_has_its_place_in_the_record(store: Store) -> None:
    for runtime_ms in (1.0, 3.0):
        store.save(result(runtime_ms=runtime_ms, baseline_ms=3.0, speedup=3.0 / runtime_ms), SOURCE, PROBLEM_SOURCE)
    (record,) = best_time_histories(store, "softmax")
    assert [time.runtime_ms for time in record.times] == [1.0]
