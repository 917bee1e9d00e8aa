"""Rankings and failures, against examples worked out by hand."""

from typing import Any

import pytest

from db.queries.compare import compare
from db.queries.filters import Filters
from db.queries.leaderboard import CategoryCount, Failures, failures, leaderboard
from db.queries.overall import overall
from db.queries.problems import problems
from db.queries.ranking import ranks
from db.store import Store
from db.upkeep import check
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence
from tests.db.conftest import BOTH
from tests.db.samples import environment, in_workloads, result, sha256, timing

pytestmark = pytest.mark.slow(8)


def save(
    store: Store, category: Category = Category.OK, source: str = "", submission: str = "a.py", problem_source: str = "p", **changes: object
) -> int:
    """Every submission has a source of its own unless one is given."""
    source = source or f"source of {submission}"
    if category.status is not Status.REJECTED:
        changes.setdefault("problem_sha256", sha256(problem_source))
    return store.save(result(category, source, submission=submission, **changes), source, problem_source)  # type: ignore[arg-type]


def ranking(store: Store, **filters: Any) -> list[tuple[int, str]]:
    return [(row.rank, row.submission) for row in leaderboard(store, Filters(**filters), every=True)]


@BOTH
def test_a_worked_example(store: Store) -> None:
    assert (leaderboard(store), failures(store)) == ((), Failures(0, ()))
    for name, author, speedup in (("slow.py", "ada", 0.5), ("fast.py", "bob", 4.0), ("tied1.py", "ada", 2.0), ("tied2.py", "cy", 2.0)):
        save(store, submission=name, speedup=speedup, author=author)
    save(store, Category.WRONG_VALUES, submission="wrong.py")
    save(store, Category.NO_CUSTOM_KERNEL, submission="torch.py", speedup=9.0)
    save(store, Category.IMPLAUSIBLE_SPEED, submission="cheat.py")
    rows = leaderboard(store)
    assert [(row.rank, row.submission) for row in rows] == [(1, "fast.py"), (2, "tied1.py"), (2, "tied2.py")]
    assert ranking(store) == [(1, "fast.py"), (2, "tied1.py"), (2, "tied2.py"), (4, "slow.py")]
    assert ranking(store, author="cy") == [(2, "tied2.py")], "an author keeps the rank among all"
    assert ranking(store, author="nobody") == [] and failures(store, Filters(author="nobody")) == Failures(0, ())
    first = rows[0]
    assert (first.problem, first.case, first.device_name, first.author) == ("softmax", "full", "NVIDIA H200", "bob")
    assert (first.speedup, first.runtime_ms, first.baseline_ms, first.evaluation_id) == (4.0, 2.0, 8.0, 2)


@BOTH
def test_equal_sources_have_one_result_whoever_handed_them_in(store: Store) -> None:
    save(store, source="same", submission="first.py", author="ada", speedup=4.0)
    save(store, source="other", submission="other.py", author="cy", speedup=3.0)
    save(store, source="same", submission="copy.py", author="bob", speedup=2.0)
    save(store, source="same", submission="elsewhere.py", author="bob", speedup=9.0, case="small")
    rows = leaderboard(store, Filters(case="full"))
    assert [(row.rank, row.shared, row.author, row.submission) for row in rows] == [
        (1, False, "cy", "other.py"),
        (2, True, "ada", "first.py"),
        (2, True, "bob", "copy.py"),
    ]
    assert {(row.speedup, row.runtime_ms, row.baseline_ms) for row in rows[1:]} == {(2.0, 2.0, 4.0)}
    assert compare(store, "ada", "bob", Filters(case="full")).ties == 1
    save(store, Category.TIMEOUT, source="same", submission="copy.py", author="bob")
    assert [(row.author, row.speedup) for row in leaderboard(store, Filters(case="full"))] == [("ada", 4.0), ("cy", 3.0)]


@BOTH
@pytest.mark.parametrize("copied", [2.0, 9.0], ids=["worse", "better"])
def test_an_authors_best_is_chosen_by_the_results_that_count(store: Store, copied: float) -> None:
    save(store, source="best", submission="best.py", author="ada", speedup=4.0)
    save(store, source="second", submission="second.py", author="ada", speedup=3.0)
    save(store, source="best", submission="copy.py", author="bob", speedup=copied)
    save(store, source="own", submission="own.py", author="bob", speedup=2.5)
    worse = [("ada", "second.py", 3.0), ("bob", "own.py", 2.5)]
    better = [("ada", "best.py", 9.0), ("bob", "copy.py", 9.0)]
    expected = better if copied > 3.0 else worse
    assert [(row.author, row.submission, row.speedup) for row in leaderboard(store)] == expected
    assert {row.speedup for row in leaderboard(store, every=True) if row.submission in ("best.py", "copy.py")} == {copied}
    (problem,) = problems(store)
    assert (problem.best_author, problem.best_speedup, problem.authors) == (expected[0][0], expected[0][2], 2)
    assert {(row.author, row.speedup) for row in leaderboard(store, reduced_precision=True)} == {(row[0], row[2]) for row in expected}


def test_problems_cases_devices_and_precisions_are_ranked_apart(store: Store) -> None:
    save(store, submission="a", speedup=1.0)
    save(store, submission="b", speedup=3.0, case="small")
    save(store, submission="c", speedup=2.0, environment=environment("NVIDIA A100"))
    save(store, submission="d", speedup=5.0, problem="gelu")
    save(store, submission="e", speedup=6.0)
    save(store, submission="e", speedup=7.0, precision="float16")
    found = [(row.problem, row.case, row.device_name, row.precision, row.rank, row.submission) for row in leaderboard(store, every=True)]
    assert found == [
        ("gelu", "full", "NVIDIA H200", "own", 1, "d"),
        ("softmax", "full", "NVIDIA A100", "own", 1, "c"),
        ("softmax", "full", "NVIDIA H200", "float16", 1, "e"),
        ("softmax", "full", "NVIDIA H200", "own", 1, "e"),
        ("softmax", "full", "NVIDIA H200", "own", 2, "a"),
        ("softmax", "small", "NVIDIA H200", "own", 1, "b"),
    ]
    assert ranking(store, problem="gelu") == [(1, "d")]
    assert ranking(store, case="small") == [(1, "b")]
    assert ranking(store, device="NVIDIA A100") == [(1, "c")]
    assert ranking(store, precision="float16") == [(1, "e")]
    assert ranking(store, problem="softmax", case="full", device="NVIDIA H200", precision="own") == [(1, "e"), (2, "a")]
    assert ranking(store, problem="unheard of") == []


def test_failures_by_cause(store: Store) -> None:
    save(store, submission="good")
    for name in "abc":
        save(store, Category.WRONG_VALUES, submission=name)
    save(store, Category.LINK_ERROR, submission="d", author="bob")
    save(store, Category.SYNTAX_ERROR, submission="e")
    save(store, Category.OUT_OF_MEMORY, submission="f", environment=environment("NVIDIA A100"))
    save(store, Category.NO_CUSTOM_KERNEL, submission="g", case="small")
    wrong = CategoryCount(Status.INCORRECT, Category.WRONG_VALUES, 3)
    link = CategoryCount(Status.BUILD_FAILED, Category.LINK_ERROR, 1)
    no_kernel = CategoryCount(Status.CORRECT, Category.NO_CUSTOM_KERNEL, 1)
    syntax = CategoryCount(Status.REJECTED, Category.SYNTAX_ERROR, 1)
    memory = CategoryCount(Status.RUN_FAILED, Category.OUT_OF_MEMORY, 1)
    assert failures(store) == Failures(8, (wrong, link, no_kernel, syntax, memory))
    assert failures(store, Filters(author="bob")) == Failures(1, (link,))
    assert failures(store, Filters(device="NVIDIA A100")) == Failures(2, (syntax, memory))
    assert failures(store, Filters(case="small")) == Failures(2, (no_kernel, syntax))
    assert failures(store, Filters(problem="gelu")) == Failures(0, ())


def test_an_author_stands_with_the_best_submission_and_all_are_there_on_request(store: Store) -> None:
    save(store, submission="a1", author="ada", speedup=2.0)
    best = save(store, submission="a2", author="ada", speedup=3.0)
    save(store, submission="b", author="bob", speedup=2.5)
    assert [(row.rank, row.author, row.evaluation_id) for row in leaderboard(store)] == [(1, "ada", best), (2, "bob", 3)]
    assert ranking(store) == [(1, "a2"), (2, "b"), (3, "a1")]
    save(store, Category.NONDETERMINISTIC, submission="a2", author="ada")
    assert [row.submission for row in leaderboard(store)] == ["b", "a1"], "the next best takes over"


BEFORE_AND_AFTER: dict[str, tuple[list[dict[str, Any]], list[tuple[str, float]], Category | None]] = {
    "the latest counts, not the best": ([{"speedup": 5.0}, {"speedup": 3.0}], [("a", 3.0)], None),
    "it fails now": ([{}, {"category": Category.TIMEOUT, "source": "changed"}], [], Category.TIMEOUT),
    "it is no Python now": ([{}, {"category": Category.SYNTAX_ERROR, "source": "cut o"}], [], Category.SYNTAX_ERROR),
    "the rejection is not about the source": (
        [{"source": "same"}, {"source": "same", "category": Category.UNKNOWN_PROBLEM, "problem": None}],
        [("a", 2.0)],
        Category.UNKNOWN_PROBLEM,
    ),
    "the response was mended": (
        [{"category": Category.NO_CODE_BLOCK, "source": "sorry", "problem": None}, {"block": 1}],
        [("a", 2.0)],
        None,
    ),
    "it was not evaluated again": ([{}, {"category": Category.INFRASTRUCTURE_ERROR}], [("a", 2.0)], None),
    "it failed in another way before": (
        [{"category": Category.LINK_ERROR, "source": "1"}, {"category": Category.WRONG_VALUES, "source": "2"}],
        [],
        Category.WRONG_VALUES,
    ),
    "blocks are apart": (
        [
            {"block": 1, "source": "1", "speedup": 1.0},
            {"block": 2, "source": "2", "speedup": 2.0},
            {"block": 2, "source": "2", "speedup": 1.5},
        ],
        [("a", 1.5), ("a", 1.0)],
        None,
    ),
    "of an author's copies the later one counts": (
        [{"source": "same", "speedup": 3.0}, {"submission": "b", "source": "same", "speedup": 2.0}],
        [("b", 2.0)],
        None,
    ),
    "the earlier copy takes over": (
        [{"source": "s"}, {"submission": "b", "source": "s"}, {"submission": "b", "source": "t", "category": Category.TIMEOUT}],
        [("a", 2.0)],
        Category.TIMEOUT,
    ),
    "an outdated problem is left out": (
        [{"speedup": 9.0, "problem_source": "old"}, {"submission": "b", "problem_source": "new"}],
        [("b", 2.0)],
        None,
    ),
    "a problem that was changed back is the newest": (
        [
            {"speedup": 9.0, "problem_source": "old"},
            {"submission": "b", "problem_source": "new"},
            {"submission": "c", "problem_source": "old", "speedup": 3.0},
        ],
        [("a", 9.0), ("c", 3.0)],
        None,
    ),
    "from before precisions": ([{"speedup": 9.0, "precision": None}, {"precision": "float32"}], [("a", 2.0)], None),
}
"""What is stored one after another, the ranking that remains, and the failure that counts."""


def test_what_comes_later_changes_the_ranking_and_the_failures(store: Store) -> None:
    for number, (name, (stored, ranked, failure)) in enumerate(BEFORE_AND_AFTER.items()):
        problem = f"p{number}"
        for changes in stored:
            save(store, **{"submission": "a", "problem": problem, "author": problem} | changes)
        rows = leaderboard(store, Filters(author=problem), every=True)
        assert [(row.submission, row.speedup) for row in rows] == ranked, name
        assert [item.category for item in failures(store, Filters(author=problem)).counts] == ([failure] if failure else []), name


@BOTH
def test_without_an_author_each_submission_stands_for_itself(store: Store) -> None:
    save(store, submission="a", author=None, speedup=1.0)
    save(store, submission="b", author=None, speedup=2.0)
    save(store, submission="c", author="cy", speedup=1.5)
    assert [(row.rank, row.submission, row.author) for row in leaderboard(store)] == [(1, "b", None), (2, "c", "cy"), (3, "a", None)]


def test_protocols_are_ranked_apart_and_shown_on_demand(store: Store) -> None:
    save(store, submission="a", speedup=2.0)
    save(store, submission="a", speedup=9.0, protocol="graph")
    save(store, submission="b", speedup=3.0, protocol="throughput")
    assert [(row.submission, row.speedup, row.protocol) for row in leaderboard(store)] == [("a", 2.0, None)]
    assert [(row.submission, row.speedup, row.protocol) for row in leaderboard(store, Filters(protocol="graph"))] == [("a", 9.0, "graph")]
    assert ranking(store, protocol="cold") == ranking(store) == [(1, "a")], "the default by its name"
    (board,) = overall(store)
    assert board.tasks == 1


def test_speedups_that_can_not_be_told_apart_share_a_rank(store: Store) -> None:
    for author, speedup in (("ada", 2.0), ("bob", 2.02), ("cy", 3.0)):
        save(store, submission=author, author=author, speedup=speedup, evidence=Evidence(timing=timing(speedup)))
    rows = leaderboard(store)
    assert [(row.rank, row.author) for row in rows] == [(1, "cy"), (2, "bob"), (2, "ada")]
    assert all(row.speedup_low < row.speedup < row.speedup_high for row in rows)
    assert [(row.rank, row.author) for row in leaderboard(store, top=1)] == [(1, "cy")]


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([], []),
        ([(1, 2)], [1]),
        ([(5, 6), (3, 4), (1, 2)], [1, 2, 3]),
        ([(3, 4), (2, 3), (0, 1)], [1, 1, 3]),
        ([(3, 4), (2, 3.5), (1, 2.5), (0, 0.5)], [1, 1, 3, 4]),
        ([(5, 5.1), (1, 4), (0.5, 6)], [1, 2, 2]),
        ([(2, 2), (2, 2), (1, 1)], [1, 1, 3]),
    ],
)
def test_ranks_of_intervals(intervals: list[tuple[float, float]], expected: list[int]) -> None:
    assert ranks(intervals) == expected


def with_reduced(store: Store, **options: Any) -> list[tuple[int, str, str]]:
    return [(row.rank, row.submission, row.category) for row in leaderboard(store, reduced_precision=True, **options)]


def test_reduced_precision_is_ranked_on_request_alone(store: Store) -> None:
    save(store, submission="exact", author="ada", speedup=2.0)
    save(store, Category.REDUCED_PRECISION, submission="tf32", author="ada", speedup=5.0)
    save(store, Category.REDUCED_PRECISION, submission="half", author="bob", speedup=3.0)
    save(store, Category.REDUCED_PRECISION, submission="slow half", author="bob", speedup=1.0)
    save(store, Category.NO_CUSTOM_KERNEL, submission="torch", author="cy", speedup=9.0)
    save(store, Category.REDUCED_PRECISION, submission="unnamed 1", author=None, speedup=4.0)
    save(store, submission="unnamed 2", author=None, speedup=0.5)
    save(store, submission="g", problem="gelu", speedup=7.0)
    assert [(row.submission, row.category) for row in leaderboard(store)] == [("g", "ok"), ("exact", "ok"), ("unnamed 2", "ok")]
    best = [(1, "g", "ok"), (1, "tf32", "reduced_precision"), (2, "unnamed 1", "reduced_precision"), (3, "half", "reduced_precision")]
    assert with_reduced(store) == [*best, (4, "unnamed 2", "ok")]
    assert with_reduced(store, every=True) == [*best, (4, "exact", "ok"), (5, "slow half", "reduced_precision"), (6, "unnamed 2", "ok")]
    assert with_reduced(store, filters=Filters(author="bob")) == [(3, "half", "reduced_precision")]
    assert check(store) == []


def test_of_copies_the_latest_counts_whether_reduced_or_not(store: Store) -> None:
    save(store, Category.REDUCED_PRECISION, submission="a", source="same", speedup=5.0)
    save(store, submission="b", source="same", speedup=2.0)
    assert with_reduced(store) == [(1, "b", "ok")]
    save(store, Category.REDUCED_PRECISION, submission="c", source="same", speedup=3.0)
    assert with_reduced(store) == [(1, "c", "reduced_precision")]
    assert ranking(store) == [(1, "b")]
    save(store, Category.TIMEOUT, submission="c", source="slow")
    assert with_reduced(store) == [(1, "b", "ok")], "history of reduced precision takes no place"


def workload_ranking(store: Store, case: str, **more: bool) -> list[tuple[int, str | None, float, float, float]]:
    rows = leaderboard(store, Filters(case=case), **more)
    assert {row.case for row in rows} <= {case}
    return [(row.rank, row.author, row.speedup, row.runtime_ms, row.baseline_ms) for row in rows]


@BOTH
def test_each_workload_has_a_board_of_its_own(store: Store) -> None:
    store.save(in_workloads("ada", small=2.0, large=8.0), "of ada")
    store.save(in_workloads("bob", small=5.0, large=4.0), "of bob")
    assert [(rank, author) for rank, author, *_ in workload_ranking(store, "all")] == [(1, "bob"), (1, "ada")]
    assert workload_ranking(store, "small") == [(1, "bob", 5.0, 2.0, 10.0), (2, "ada", 2.0, 2.0, 4.0)]
    assert workload_ranking(store, "large") == [(1, "ada", 8.0, 2.0, 16.0), (2, "bob", 4.0, 2.0, 8.0)]
    assert leaderboard(store, Filters(case="small", author="ada"))[0].rank == 2
    assert [row.author for row in leaderboard(store, Filters(case="small"), top=1)] == ["bob"]


def test_equal_sources_have_one_result_in_each_workload(store: Store) -> None:
    for each in (in_workloads("ada", small=2.0, large=8.0), in_workloads("bob", small=5.0, large=4.0)):
        store.save(each.model_copy(update={"source_sha256": sha256("of both")}), "of both")
    assert workload_ranking(store, "small") == [(1, "ada", 5.0, 2.0, 10.0), (1, "bob", 5.0, 2.0, 10.0)]
    assert workload_ranking(store, "large") == [(1, "ada", 4.0, 2.0, 8.0), (1, "bob", 4.0, 2.0, 8.0)]


def test_an_unsolved_workload_and_what_is_no_more_current_are_not_ranked(store: Store) -> None:
    store.save(in_workloads("ada", small=2.0, large=None), "of ada")
    store.save(in_workloads("bob", small=5.0, large=4.0), "of bob")
    store.save(in_workloads("bob", small=3.0, large=4.0), "of bob")
    assert workload_ranking(store, "small") == [(1, "bob", 3.0, 2.0, 6.0), (2, "ada", 2.0, 2.0, 4.0)]
    assert [author for _, author, *_ in workload_ranking(store, "large")] == ["bob"]
