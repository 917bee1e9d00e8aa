"""Two runs against each other, and two evaluations."""

from typing import Any

import pytest

from db.error import StoreError
from db.queries import run_comparison
from db.queries.filters import Filters
from db.queries.ratio import ratio, timed, why_not
from db.queries.run_comparison import OUTCOMES, ComparedSubmission, TooManyEvaluationsError, compare_runs
from db.store import Store
from db.upkeep import check, collect
from evaluator.results.category import Category
from tests.db.conftest import BOTH
from tests.db.samples import environment, failed, result, solved, stored_run

pytestmark = pytest.mark.slow(10)


def told(rows: tuple[ComparedSubmission, ...]) -> dict[str, str]:
    return {row.submission: row.outcome for row in rows}


@BOTH
def test_each_submission_has_its_outcome_and_the_worst_come_first(store: Store, url: str) -> None:
    left = stored_run(
        url,
        *(solved("broke", 2.0), solved("slower", 2.0), solved("faster", 2.0), solved("same", 2.0), solved("gone", 2.0)),
        *(failed("fixed"), failed("changed"), failed("still"), failed("lucky", Category.NO_DEVICE)),
    )
    right = stored_run(
        url,
        *(failed("broke"), solved("slower", 1.9), solved("faster", 2.2), solved("same", 2.02), solved("new", 1.0)),
        *(solved("fixed", 1.0), failed("changed", Category.WRONG_VALUES), failed("still"), solved("lucky", 1.0)),
    )
    found = compare_runs(store, left, right)
    outcomes = {**{name: name for name in ("broke", "slower", "faster", "gone", "fixed", "changed", "new")}, "lucky": "changed"}
    assert told(found.rows) == outcomes | {"same": "unchanged", "still": "unchanged"}
    assert [row.outcome for row in found.rows] == sorted((row.outcome for row in found.rows), key=OUTCOMES.index)
    assert list(found.counts) == [name for name in OUTCOMES if name in found.counts] and sum(found.counts.values()) == len(found.rows)
    assert (found.left.id, found.right.id, found.left.devices) == (left, right, ("NVIDIA H200",))
    faster = next(row for row in found.rows if row.outcome == "faster")
    assert faster.ratio == pytest.approx(1.1) and faster.ratio_low is not None and faster.ratio_high is not None
    assert faster.ratio_low == pytest.approx(1.1 * 0.9829, rel=1e-3) and faster.ratio_high == pytest.approx(1.1 * 1.0174, rel=1e-3)


def test_a_rejected_submission_is_held_against_all_of_its_blocks(store: Store, url: str) -> None:
    left = stored_run(url, solved("a.md", 2.0, block=1), solved("a.md", 2.0, block=2, case="small"), solved("b.py", 1.0))
    right = stored_run(url, failed("a.md", Category.SYNTAX_ERROR, problem=None), failed("b.py", Category.SYNTAX_ERROR))
    found = compare_runs(store, left, right)
    assert [(row.submission, row.block, row.outcome) for row in found.rows] == [
        *(("a.md", 1, "broke"), ("a.md", 2, "broke"), ("b.py", None, "broke"))
    ]
    back = compare_runs(store, right, left)
    assert {row.outcome for row in back.rows} == {"fixed"} and len(back.rows) == 3


@BOTH
def test_what_had_been_judged_already_is_as_it_was(store: Store, url: str) -> None:
    left = stored_run(url, solved("same.py", 2.0), solved("faster.py", 2.0), solved("gone.py", 2.0))
    right = stored_run(url, solved("faster.py", 3.0), skipped=[1])
    assert told(compare_runs(store, left, right).rows) == {"same.py": "unchanged", "faster.py": "faster", "gone.py": "gone"}
    third = stored_run(url, skipped=[1, 4])
    assert told(compare_runs(store, right, third).rows) == {"same.py": "unchanged", "faster.py": "unchanged"}
    assert collect(store).get("runs") == 0 and check(store) == []


def test_a_changed_source_is_told_from_the_same(store: Store, url: str) -> None:
    left = stored_run(url, solved("same.py", 2.0), solved("changed.py", 2.0))
    right = stored_run(url, solved("same.py", 2.0), solved("changed.py", 2.0, hint="another text"))
    found = compare_runs(store, left, right)
    assert {row.submission: row.same_source for row in found.rows} == {"same.py": True, "changed.py": False}
    other = stored_run(url, solved("same.py", 2.0, case="small"))
    assert {row.outcome for row in compare_runs(store, left, other).rows} == {"gone", "new"}, "another case is another submission"


def test_filters_choose_submissions(store: Store, url: str) -> None:
    left = stored_run(url, solved("a.py", 2.0), solved("b.py", 2.0, problem="gelu", author="bob"))
    right = stored_run(url, solved("a.py", 2.0), failed("b.py", problem="gelu", author="bob"))
    assert told(compare_runs(store, left, right, Filters(problem="gelu")).rows) == {"b.py": "broke"}
    assert told(compare_runs(store, left, right, Filters(author="ada")).rows) == {"a.py": "unchanged"}
    assert compare_runs(store, left, right, Filters(author="nobody")).rows == ()


def test_runs_that_are_not_there_or_too_long_are_said(store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number = stored_run(url, solved("a.py", 2.0), solved("b.py", 2.0))
    with pytest.raises(StoreError, match=f"There is no run {number + 1}"):
        compare_runs(store, number, number + 1)
    monkeypatch.setattr(run_comparison, "MOST_EVALUATIONS", 1)
    with pytest.raises(TooManyEvaluationsError, match="more than 1 evaluations"):
        compare_runs(store, number, number)


def test_times_of_different_boards_are_not_compared(store: Store) -> None:
    first = store.save(solved("a.py", 2.0), "a")
    others: dict[str, dict[str, Any]] = {
        "different devices: NVIDIA H200 and NVIDIA H100": {"environment": environment("NVIDIA H100")},
        "different cases: full and small": {"case": "small"},
        "different precisions: own and float16": {"precision": "float16"},
        "different protocols: the device's default and graph": {"protocol": "graph"},
        "different problems: softmax and gelu": {"problem": "gelu"},
        "different versions of the problem": {"problem_sha256": "a" * 64},
    }
    for words, changes in others.items():
        other = store.save(solved(f"{words}.py", 3.0, **changes), words)
        sides = timed(store, first, other)
        assert words in why_not(sides[first], sides[other]) and ratio(sides[first], sides[other]) is None
    wrong = store.save(failed("wrong.py"), "wrong")
    sides = timed(store, first, wrong)
    assert why_not(sides[first], sides[wrong]) == "The right one was not timed."
    assert why_not(sides[wrong], sides[wrong]) == "The left and the right one were not timed."
    assert timed(store, 999) == {}
    bare = store.save(result(submission="bare.py", speedup=3.0), "bare")
    sides = timed(store, first, bare)
    found = ratio(sides[first], sides[bare])
    assert found is not None and (found.ratio, found.low, found.high) == (1.5, None, None), "without samples"
