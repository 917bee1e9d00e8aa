"""Best speedups, and the curves that are made of them."""

from db.queries.curves import best_speedups
from db.queries.filters import Filters
from db.queries.overall import overall
from db.queries.statistics import FAST_P
from db.store import Store
from evaluator.results.category import Category
from tests.db.queries.conftest import BOTH
from tests.db.samples import PROBLEM_SOURCE, environment, result


def save(store: Store, problem: str, author: str | None, speedup: float | None) -> None:
    name = f"{problem} {author} {speedup}"
    category = Category.OK if speedup else Category.TIMEOUT
    store.save(result(category, name, speedup, submission=name, problem=problem, author=author), name, PROBLEM_SOURCE)


@BOTH
def test_a_curve_agrees_with_fast_p(store: Store) -> None:
    for problem, speedup in (("a", 0.6), ("b", 1.0), ("c", 2.5), ("d", None)):
        save(store, problem, "ada", speedup)
    save(store, "a", "bob", 1.2)
    (board,) = best_speedups(store)
    assert (board.case, board.device_name, board.tasks) == ("full", "NVIDIA H200", 4)
    assert board.authors == {"ada": (0.6, 1.0, 2.5), "bob": (1.2,)}
    assert board.curve("ada") == ((0.0, 0.75), (0.6, 0.5), (1.0, 0.25), (2.5, 0.0))
    (told,) = overall(store)
    for row in told.rows:
        curve = board.curve(row.author)
        for p in FAST_P:
            assert row.fast[p] == [share for at, share in curve if at <= p][-1]


def test_who_solved_nothing_has_no_curve_and_the_best_counts(store: Store) -> None:
    save(store, "a", "ada", 1.5)
    save(store, "a", "ada", 3.0)
    save(store, "a", None, 0.5)
    save(store, "a", "bob", None)
    (board,) = best_speedups(store)
    assert board.authors == {"ada": (3.0,), None: (0.5,)}


def test_settings_are_kept_apart_and_filtered(store: Store) -> None:
    store.save(result(submission="a.py"), "a", PROBLEM_SOURCE)
    store.save(result(submission="b.py", environment=environment("CPU")), "b", PROBLEM_SOURCE)
    assert [board.device_name for board in best_speedups(store)] == ["CPU", "NVIDIA H200"]
    assert [board.device_name for board in best_speedups(store, Filters(device="CPU"))] == ["CPU"]
    assert best_speedups(store, Filters(case="none")) == ()
