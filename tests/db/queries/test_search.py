"""The search for a few letters."""

import pytest

from db.queries.search import Found, search
from db.store import Store
from evaluator.results.category import Category
from tests.db.queries.conftest import BOTH
from tests.db.samples import result


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
@pytest.mark.parametrize("letters", ["%", "_", "50%", "a_b", "\\", "'", '"', "/x", "é"])
def test_signs_that_mean_something_to_a_database_are_letters(store: Store, letters: str) -> None:
    put(store, f"one {letters} two", f"one {letters} two")
    put(store, "50 of them, aXb", "50 of them, aXb")
    found = search(store, letters, 9)
    assert len(found.submissions) == len(found.problems) == 1
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


@BOTH
def test_categories_are_found_by_name_status_and_meaning(store: Store) -> None:
    assert search(store, "wrong val", 9).categories == (Category.WRONG_VALUES,)
    assert set(search(store, "build_failed", 99).categories) >= {Category.LINK_ERROR, Category.CUDA_COMPILE_ERROR}
    assert Category.NAN_OR_INF in search(store, "infinity", 9).categories


@BOTH
def test_what_is_called_like_nothing_gets_the_nearest_names(store: Store) -> None:
    put(store, "x.py", "softmax", "ada lovelace")
    assert search(store, "softmx", 9).nearest == ("softmax",)
    assert search(store, "ada lovelaec", 9).nearest == ("ada lovelace",)
    assert search(store, "  ", 9) == Found((), (), (), (), (), (), ())
