"""Two runs against each other, and two evaluations."""

from collections.abc import Sequence
from pathlib import Path
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
from evaluator.results.evidence import Evidence, TimingEvidence, TimingSide
from evaluator.results.result import Result
from tests.db.queries.conftest import BOTH
from tests.db.samples import environment, result, sha256

ABOUT = 0.01
"""Share by which the ends of each interval are off the speedup."""


def timing(speedup: float) -> Evidence:
    """Evidence of a timing whose interval is `ABOUT` to either side."""
    side, other = (TimingSide(median_ms=ms, lower_quartile_ms=ms, upper_quartile_ms=ms, samples_ms=(ms,) * 8) for ms in (1.0, speedup))
    interval = speedup * (1 - ABOUT), speedup * (1 + ABOUT)
    return Evidence(timing=TimingEvidence(clock="cuda_event", calls=8, candidate=side, baseline=other, interval=interval))


def solved(name: str, speedup: float, **changes: Any) -> Result:
    times: dict[str, Any] = {"runtime_ms": 1.0 / speedup, "baseline_ms": 1.0, "speedup": speedup, "evidence": timing(speedup)}
    return result(submission=name, **times | changes)


def failed(name: str, category: Category = Category.TIMEOUT, **changes: Any) -> Result:
    return result(category, submission=name, **changes)


def stored_run(url: str, *results: Result, skipped: Sequence[int] = ()) -> int:
    with Store.open(url) as working:
        working.start_run(["pipeline.py"])
        working.skip(skipped)
        for each in results:
            text = f"source of {each.submission} {each.hint}"
            working.save(each.model_copy(update={"source_sha256": sha256(text)}), text)
        assert working._run_id is not None
        return working._run_id


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
    assert faster.ratio_low == pytest.approx(1.1 * 0.986, rel=1e-3) and faster.ratio_high == pytest.approx(1.1 * 1.0142, rel=1e-3)


@BOTH
def test_a_rejected_submission_is_held_against_all_of_its_blocks(store: Store, url: str) -> None:
    left = stored_run(url, solved("a.md", 2.0, block=1), solved("a.md", 2.0, block=2, case="small"), solved("b.py", 1.0))
    right = stored_run(url, failed("a.md", Category.SYNTAX_ERROR, problem=None), failed("b.py", Category.SYNTAX_ERROR))
    found = compare_runs(store, left, right)
    assert [(row.submission, row.block, row.outcome) for row in found.rows] == [
        *(("a.md", 1, "broke"), ("a.md", 2, "broke"), ("b.py", None, "broke")),
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


def test_other_cases_are_other_submissions_of_the_run(store: Store, url: str) -> None:
    left, right = stored_run(url, solved("a.py", 2.0)), stored_run(url, solved("a.py", 2.0, case="small"))
    assert [row.outcome for row in compare_runs(store, left, right).rows] == ["gone", "new"]


def test_a_changed_source_is_told_from_the_same(store: Store, url: str) -> None:
    left = stored_run(url, solved("same.py", 2.0), solved("changed.py", 2.0))
    right = stored_run(url, solved("same.py", 2.0), solved("changed.py", 2.0, hint="another text"))
    found = compare_runs(store, left, right)
    assert {row.submission: row.same_source for row in found.rows} == {"same.py": True, "changed.py": False}


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


@BOTH
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


def test_a_ratio_without_samples_has_no_interval(store: Store, tmp_path: Path) -> None:
    first, second = store.save(solved("a.py", 2.0), "a"), store.save(result(submission="b.py", speedup=3.0), "b")
    sides = timed(store, first, second)
    found = ratio(sides[first], sides[second])
    assert found is not None and (found.ratio, found.low, found.high) == (1.5, None, None)
