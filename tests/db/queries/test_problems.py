"""Problems: their versions, the authors who solved them, and their best speedup over time."""

from datetime import timedelta
from typing import Any

import pytest

from db.queries import progress
from db.queries.problems import problems, versions
from db.queries.progress import author_progress, problem_progress
from db.queries.statistics import geometric_mean
from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import now
from tests.db.conftest import BOTH
from tests.db.samples import PROBLEM_SOURCE, SOURCE, environment, result, sha256

pytestmark = pytest.mark.slow(10)

START = now()


def test_problems_are_counted_by_name(store: Store) -> None:
    assert problems(store) == ()
    store.save(result(submission="a.py"), SOURCE)
    store.save(result(Category.TIMEOUT, submission="b.py"), SOURCE)
    store.save(result(Category.NO_DEVICE, submission="c.py"), SOURCE)
    store.save(result(submission="d.py", problem="gelu"), SOURCE)
    store.save(result(Category.UNKNOWN_PROBLEM, submission="e.py", problem=None), SOURCE)
    found = [(row.name, row.submissions, row.solved, row.not_evaluated) for row in problems(store)]
    assert found == [("gelu", 1, 1, 0), ("softmax", 2, 1, 1)]


def test_a_problem_has_its_best_and_all_who_solved_it(store: Store) -> None:
    numbers = {}
    for author, speedup, device in (("ada", 2.0, "NVIDIA H200"), ("bob", 3.0, "CPU"), ("cyd", 1.0, "CPU")):
        made = result(submission=f"{author}.py", author=author, source=author, speedup=speedup, environment=environment(device))
        numbers[author] = store.save(made, author)
    store.save(result(submission="graph.py", author="dan", source="graph", speedup=9.0, protocol="graph"), "graph")
    store.save(result(Category.SYNTAX_ERROR, submission="broken.py", author="eve"), SOURCE)
    (found,) = problems(store)
    assert (found.best_speedup, found.best_author, found.best_device) == (3.0, "bob", "CPU")
    assert found.best_evaluation_id == numbers["bob"]
    assert (found.authors, found.solved, found.submissions) == (3, 4, 5) and found.devices == ("CPU", "NVIDIA H200")
    store.save(result(Category.TIMEOUT, submission="new.py", problem_sha256=sha256("new")), SOURCE, "new")
    (newer,) = problems(store)
    assert (newer.solved, newer.submissions, newer.best_speedup, newer.source) == (0, 2, None, "new"), "only the newest version counts"


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


def put(store: Store, name: str, speedup: float, hour: int, **changes: Any) -> int:
    times: dict[str, Any] = {
        "runtime_ms": 8.0 / speedup,
        "baseline_ms": 8.0,
        "speedup": speedup,
        "started_at": START + timedelta(hours=hour),
    }
    return store.save(result(submission=f"{name}.py", source=name, **times | changes), name, PROBLEM_SOURCE)


@BOTH
def test_the_best_so_far_is_what_was_faster_than_all_before(store: Store) -> None:
    # They are stored in another order than that in which they began.
    for hour, speedup in ((2, 4.0), (0, 2.0), (1, 1.5), (3, 4.0), (4, 8.0)):
        put(store, f"at {hour}", speedup, hour)
    put(store, "elsewhere", 1.0, 5, environment=environment("CPU"))
    store.save(result(Category.TIMEOUT, submission="late.py"), SOURCE, PROBLEM_SOURCE)
    cpu, gpu = problem_progress(store, "softmax")
    assert (gpu.case, gpu.device_name, gpu.precision, gpu.evaluations) == ("full", "NVIDIA H200", "own", 5)
    assert [(best.speedup, best.submission) for best in gpu.best] == [(2.0, "at 0.py"), (4.0, "at 2.py"), (8.0, "at 4.py")]
    assert (gpu.best[0].started_at, gpu.best[0].author, gpu.best[-1].runtime_ms) == (START, "ada", 1.0)
    assert [point.speedup for point in gpu.points] == [2.0, 1.5, 4.0, 4.0, 8.0]
    assert [best.speedup for best in cpu.best] == [1.0]
    put(store, "at 4", 1.0, 6)
    again = problem_progress(store, "softmax")[1]
    assert again.best == gpu.best and len(again.points) == 6, "history has its place"
    assert problem_progress(store, "nothing") == ()


def test_of_many_evaluations_some_are_shown_and_each_best(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MAX_POINTS", 10)
    for hour in range(95):
        put(store, f"{hour}", 9.0 if hour == 47 else 1.0 + hour / 100, hour)
    (found,) = problem_progress(store, "softmax")
    assert found.evaluations == 95 and len(found.points) == 10
    assert len(found.best) == 48 and found.best[-1].speedup == 9.0


def test_an_author_s_mean_rises_with_each_best(store: Store) -> None:
    put(store, "a", 2.0, 0)
    put(store, "b", 4.0, 1, problem="gelu")
    put(store, "c", 1.0, 2)
    put(store, "d", 8.0, 3)
    put(store, "other", 5.0, 4, author="bob", problem="matmul")
    (found,) = author_progress(store, "ada")
    assert (found.case, found.device_name, found.tasks, found.evaluations) == ("full", "NVIDIA H200", 3, 4)
    expected = [geometric_mean(speedups) for speedups in ([2.0, None, None], [2.0, 4.0, None], [8.0, 4.0, None])]
    assert [mean for _, mean in found.means] == pytest.approx(expected)
    assert [moment for moment, _ in found.means] == [START, START + timedelta(hours=1), START + timedelta(hours=3)]
    assert [point.speedup for point in found.points] == [2.0, 4.0, 1.0, 8.0]
    assert author_progress(store, "nobody") == ()
