"""Rankings and failures, against examples worked out by hand."""

import statistics
from typing import Any

import pytest

from db.queries.filters import Filters
from db.queries.leaderboard import CategoryCount, Failures, failures, leaderboard
from db.queries.overall import overall
from db.queries.ranking import ranks
from db.store import Store
from db.upkeep import check
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence, TimingEvidence, TimingSide
from tests.db.queries.conftest import BOTH
from tests.db.samples import environment, result, sha256


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


def timed(candidate_ms: list[float], baseline_ms: list[float]) -> dict[str, Any]:
    """A result with these samples."""

    def side(samples: list[float]) -> TimingSide:
        lower, median, upper = statistics.quantiles(samples, n=4)
        return TimingSide(median_ms=median, lower_quartile_ms=lower, upper_quartile_ms=upper, samples_ms=tuple(samples))

    timing = TimingEvidence(clock="cuda_event", calls=len(candidate_ms), candidate=side(candidate_ms), baseline=side(baseline_ms))
    return {
        "runtime_ms": timing.runtime_ms,
        "baseline_ms": timing.baseline_ms,
        "speedup": timing.baseline_ms / timing.runtime_ms,
        "evidence": Evidence(timing=timing),
    }


@BOTH
def test_a_worked_example(store: Store) -> None:
    save(store, submission="slow.py", speedup=0.5, author="ada")
    save(store, submission="fast.py", speedup=4.0, author="bob")
    save(store, submission="tied1.py", speedup=2.0, author="ada")
    save(store, submission="tied2.py", speedup=2.0, author="cy")
    save(store, Category.WRONG_VALUES, submission="wrong.py")
    save(store, Category.NO_CUSTOM_KERNEL, submission="torch.py", speedup=9.0)
    save(store, Category.IMPLAUSIBLE_SPEED, submission="cheat.py")
    rows = leaderboard(store)
    assert [(row.rank, row.submission) for row in rows] == [(1, "fast.py"), (2, "tied1.py"), (2, "tied2.py")]
    assert ranking(store) == [(1, "fast.py"), (2, "tied1.py"), (2, "tied2.py"), (4, "slow.py")]
    first = rows[0]
    assert (first.problem, first.case, first.device_name, first.author) == ("softmax", "full", "NVIDIA H200", "bob")
    assert (first.speedup, first.runtime_ms, first.baseline_ms, first.evaluation_id) == (4.0, 2.0, 8.0, 2)


def test_an_empty_database_has_no_ranking(store: Store) -> None:
    assert leaderboard(store) == ()
    assert failures(store) == Failures(0, ())


@BOTH
def test_problems_cases_and_devices_are_ranked_apart(store: Store) -> None:
    save(store, submission="a", speedup=1.0)
    save(store, submission="b", speedup=3.0, case="small")
    save(store, submission="c", speedup=2.0, environment=environment("NVIDIA A100"))
    save(store, submission="d", speedup=5.0, problem="gelu")
    save(store, submission="e", speedup=6.0)
    found = [(row.problem, row.case, row.device_name, row.rank, row.submission) for row in leaderboard(store, every=True)]
    assert found == [
        ("gelu", "full", "NVIDIA H200", 1, "d"),
        ("softmax", "full", "NVIDIA A100", 1, "c"),
        ("softmax", "full", "NVIDIA H200", 1, "e"),
        ("softmax", "full", "NVIDIA H200", 2, "a"),
        ("softmax", "small", "NVIDIA H200", 1, "b"),
    ]
    assert ranking(store, problem="gelu") == [(1, "d")]
    assert ranking(store, case="small") == [(1, "b")]
    assert ranking(store, device="NVIDIA A100") == [(1, "c")]
    assert ranking(store, problem="softmax", case="full", device="NVIDIA H200") == [(1, "e"), (2, "a")]
    assert ranking(store, problem="unheard of") == []


def test_an_author_keeps_the_rank_among_all(store: Store) -> None:
    save(store, submission="a", speedup=3.0, author="ada")
    save(store, submission="b", speedup=2.0, author="bob")
    assert ranking(store, author="bob") == [(2, "b")]


def test_the_latest_evaluation_counts_and_not_the_best(store: Store) -> None:
    save(store, submission="a", speedup=5.0)
    latest = save(store, submission="a", speedup=3.0)
    assert [(row.evaluation_id, row.speedup) for row in leaderboard(store)] == [(latest, 3.0)]


def test_a_submission_that_now_fails_is_not_ranked(store: Store) -> None:
    save(store, submission="a", source="good")
    save(store, Category.TIMEOUT, submission="a", source="changed")
    assert leaderboard(store) == ()
    assert failures(store) == Failures(1, (CategoryCount(Status.RUN_FAILED, Category.TIMEOUT, 1),))


def test_a_submission_that_was_changed_into_no_python_is_not_ranked(store: Store) -> None:
    save(store, submission="a", source="good")
    save(store, Category.SYNTAX_ERROR, submission="a", source="good, but cut o")
    assert leaderboard(store) == ()
    assert failures(store) == Failures(1, (CategoryCount(Status.REJECTED, Category.SYNTAX_ERROR, 1),))


def test_a_rejection_that_says_nothing_about_the_source_takes_no_rank(store: Store) -> None:
    save(store, submission="a", source="good")
    save(store, Category.UNKNOWN_PROBLEM, submission="a", source="good", problem=None)
    assert ranking(store) == [(1, "a")]


def test_a_rejected_response_that_was_mended_is_no_failure(store: Store) -> None:
    save(store, Category.NO_CODE_BLOCK, submission="a.md", source="sorry", problem=None)
    save(store, submission="a.md", source="block", block=1)
    assert ranking(store) == [(1, "a.md")]
    assert failures(store) == Failures(1, ())


def test_not_evaluated_takes_no_rank_and_is_no_failure_of_what_was_judged(store: Store) -> None:
    save(store, submission="a")
    save(store, Category.INFRASTRUCTURE_ERROR, submission="a")
    assert ranking(store) == [(1, "a")]
    assert failures(store) == Failures(1, ())


def test_blocks_of_a_response_are_ranked_apart(store: Store) -> None:
    save(store, submission="r.md", block=1, source="one", speedup=1.0)
    save(store, submission="r.md", block=2, source="two", speedup=2.0)
    save(store, submission="r.md", block=2, source="two", speedup=1.5)
    assert [(row.block, row.speedup) for row in leaderboard(store, every=True)] == [(2, 1.5), (1, 1.0)]


def test_copies_of_a_source_have_one_row_with_the_latest_time(store: Store) -> None:
    save(store, submission="a", source="same", speedup=3.0)
    latest = save(store, submission="b", source="same", speedup=2.0)
    other = save(store, submission="c", source="same", speedup=2.5, author="bob")
    assert [(row.evaluation_id, row.author) for row in leaderboard(store)] == [(other, "bob"), (latest, "ada")]


def test_an_outdated_problem_is_left_out(store: Store) -> None:
    save(store, submission="a", speedup=9.0, problem_source="old")
    save(store, submission="b", speedup=2.0, problem_source="new")
    save(store, submission="g", speedup=1.0, problem_source="old", problem="gelu")
    assert ranking(store) == [(1, "g"), (1, "b")]


def test_a_problem_that_was_changed_back_is_the_newest_again(store: Store) -> None:
    save(store, submission="a", speedup=9.0, problem_source="old")
    save(store, submission="b", speedup=2.0, problem_source="new")
    save(store, submission="c", speedup=3.0, problem_source="old")
    assert ranking(store) == [(1, "a"), (2, "c")]


@BOTH
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


def test_only_the_latest_failure_of_a_submission_counts(store: Store) -> None:
    save(store, Category.LINK_ERROR, submission="a", source="1")
    save(store, Category.WRONG_VALUES, submission="a", source="2")
    assert failures(store) == Failures(1, (CategoryCount(Status.INCORRECT, Category.WRONG_VALUES, 1),))


def test_an_author_stands_with_the_best_submission_and_all_are_there_on_request(store: Store) -> None:
    save(store, submission="a1", author="ada", speedup=2.0)
    best = save(store, submission="a2", author="ada", speedup=3.0)
    save(store, submission="b", author="bob", speedup=2.5)
    assert [(row.rank, row.author, row.evaluation_id) for row in leaderboard(store)] == [(1, "ada", best), (2, "bob", 3)]
    assert ranking(store) == [(1, "a2"), (2, "b"), (3, "a1")]


def test_the_next_best_takes_over_when_the_best_fails(store: Store) -> None:
    save(store, submission="a1", author="ada", speedup=2.0)
    save(store, submission="a2", author="ada", speedup=3.0)
    save(store, Category.NONDETERMINISTIC, submission="a2", author="ada")
    assert [(row.author, row.submission) for row in leaderboard(store)] == [("ada", "a1")]
    save(store, Category.TIMEOUT, submission="a1", author="ada")
    assert leaderboard(store) == ()


def test_the_earlier_copy_takes_over_when_the_later_fails(store: Store) -> None:
    save(store, submission="a", source="same", speedup=3.0)
    save(store, submission="b", source="same", speedup=2.0)
    save(store, Category.TIMEOUT, submission="b", source="changed")
    assert ranking(store) == [(1, "a")]


@BOTH
def test_without_an_author_each_submission_stands_for_itself(store: Store) -> None:
    save(store, submission="a", author=None, speedup=1.0)
    save(store, submission="b", author=None, speedup=2.0)
    save(store, submission="c", author="cy", speedup=1.5)
    assert [(row.rank, row.submission, row.author) for row in leaderboard(store)] == [(1, "b", None), (2, "c", "cy"), (3, "a", None)]


def test_precisions_are_ranked_apart(store: Store) -> None:
    save(store, submission="a", speedup=1.0, precision="float16")
    save(store, submission="b", speedup=2.0, precision="float32")
    save(store, submission="a", speedup=3.0, precision="float32")
    assert ranking(store, precision="float16") == [(1, "a")]
    assert ranking(store, precision="float32") == [(1, "a"), (2, "b")]


@BOTH
def test_protocols_are_ranked_apart_and_shown_on_demand(store: Store) -> None:
    save(store, submission="a", speedup=2.0)
    save(store, submission="a", speedup=9.0, protocol="graph")
    save(store, submission="b", speedup=3.0, protocol="throughput")
    assert [(row.submission, row.speedup, row.protocol) for row in leaderboard(store)] == [("a", 2.0, None)]
    assert [(row.submission, row.speedup, row.protocol) for row in leaderboard(store, Filters(protocol="graph"))] == [("a", 9.0, "graph")]
    assert ranking(store, protocol="cold") == ranking(store) == [(1, "a")], "the default by its name"
    (board,) = overall(store)
    assert board.tasks == 1


def test_an_evaluation_from_before_precisions_gives_way(store: Store) -> None:
    save(store, submission="a", speedup=9.0, precision=None)
    assert ranking(store) == [(1, "a")]
    save(store, submission="a", speedup=2.0, precision="float32")
    assert [(row.speedup, row.precision) for row in leaderboard(store)] == [(2.0, "float32")]


def test_speedups_that_can_not_be_told_apart_share_a_rank(store: Store) -> None:
    spread = [0.98, 0.99, 1.0, 1.0, 1.0, 1.01, 1.02, 1.0, 0.99, 1.01]
    save(store, submission="a", author="ada", **timed(spread, [2.0 * value for value in reversed(spread)]))
    save(store, submission="b", author="bob", **timed(spread, [2.02 * value for value in reversed(spread)]))
    save(store, submission="c", author="cy", **timed(spread, [3.0 * value for value in reversed(spread)]))
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
        ([(3, 4), (2, 3.5), (1, 2.5), (0, 0.5)], [1, 1, 1, 4]),
        ([(5, 5.1), (1, 4), (0.5, 6)], [1, 1, 1]),
        ([(2, 2), (2, 2), (1, 1)], [1, 1, 3]),
    ],
)
def test_ranks_of_intervals(intervals: list[tuple[float, float]], expected: list[int]) -> None:
    assert ranks(intervals) == expected


def test_an_unknown_author_has_no_rows(store: Store) -> None:
    save(store, submission="a")
    assert leaderboard(store, Filters(author="nobody")) == ()
    assert failures(store, Filters(author="nobody")) == Failures(0, ())


def with_reduced(store: Store, **options: Any) -> list[tuple[int, str, str]]:
    return [(row.rank, row.submission, row.category) for row in leaderboard(store, reduced_precision=True, **options)]


@BOTH
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


@BOTH
def test_of_copies_the_latest_counts_whether_reduced_or_not(store: Store) -> None:
    save(store, Category.REDUCED_PRECISION, submission="a", source="same", speedup=5.0)
    save(store, submission="b", source="same", speedup=2.0)
    assert with_reduced(store) == [(1, "b", "ok")]
    save(store, Category.REDUCED_PRECISION, submission="c", source="same", speedup=3.0)
    assert with_reduced(store) == [(1, "c", "reduced_precision")]
    assert ranking(store) == [(1, "b")]


def test_history_of_reduced_precision_takes_no_place(store: Store) -> None:
    save(store, Category.REDUCED_PRECISION, submission="a", source="tf32", speedup=5.0)
    save(store, submission="a", source="exact", speedup=2.0)
    assert with_reduced(store) == [(1, "a", "ok")]
    save(store, Category.TIMEOUT, submission="a", source="slow")
    assert with_reduced(store) == []
