"""Boards for one workload of what was judged in all of them."""

from typing import Any

import pytest

from db.queries.filters import Filters
from db.queries.leaderboard import leaderboard
from db.queries.names import require_known
from db.store import Store, StoreError
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, TimingEvidence, TimingSide, WorkloadEvidence
from evaluator.results.result import Result
from evaluator.results.score import overall_ms
from tests.db.queries.conftest import BOTH
from tests.db.samples import result


def timing(speedup: float, **more: Any) -> TimingEvidence:
    def side(time_ms: float) -> TimingSide:
        return TimingSide(median_ms=time_ms, lower_quartile_ms=time_ms, upper_quartile_ms=time_ms, samples_ms=(time_ms,) * 3)

    told: dict[str, Any] = {"interval": (0.9 * speedup, 1.1 * speedup), **more}
    return TimingEvidence(clock="cuda_event", calls=3, candidate=side(2.0), baseline=side(2.0 * speedup), **told)


def in_workloads(author: str, category: Category = Category.OK, **speedups: float | None) -> Result:
    """A result in these workloads; None for an unsolved one."""
    workloads = tuple(
        WorkloadEvidence(
            case=name,
            input_bytes=4096,
            right=speedup is not None,
            timing=None if speedup is None else timing(speedup),
            message="no" * (not speedup),
        )
        for name, speedup in speedups.items()
    )
    found = timing(next(speedup for speedup in speedups.values() if speedup), workloads=workloads)
    runtime_ms, baseline_ms = overall_ms(found)
    times: dict[str, Any] = {"runtime_ms": runtime_ms, "baseline_ms": baseline_ms, "speedup": baseline_ms / runtime_ms}
    return result(category, f"of {author}", author=author, submission=f"{author}.py", case="all", evidence=Evidence(timing=found), **times)


def ranking(store: Store, case: str, **more: bool) -> list[tuple[int, str | None, float, float, float]]:
    rows = leaderboard(store, Filters(case=case), **more)
    assert {row.case for row in rows} <= {case}
    return [(row.rank, row.author, row.speedup, row.runtime_ms, row.baseline_ms) for row in rows]


@BOTH
def test_each_workload_has_a_board_of_its_own(store: Store) -> None:
    store.save(in_workloads("ada", small=2.0, large=8.0), "of ada")
    store.save(in_workloads("bob", small=5.0, large=4.0), "of bob")
    assert [(rank, author) for rank, author, *_ in ranking(store, "all")] == [(1, "bob"), (1, "ada")]
    assert ranking(store, "small") == [(1, "bob", 5.0, 2.0, 10.0), (2, "ada", 2.0, 2.0, 4.0)]
    assert ranking(store, "large") == [(1, "ada", 8.0, 2.0, 16.0), (2, "bob", 4.0, 2.0, 8.0)]
    assert leaderboard(store, Filters(case="small", author="ada"))[0].rank == 2
    assert [row.author for row in leaderboard(store, Filters(case="small"), top=1)] == ["bob"]


def test_an_unsolved_workload_and_what_is_no_more_current_are_not_ranked(store: Store) -> None:
    store.save(in_workloads("ada", small=2.0, large=None), "of ada")
    store.save(in_workloads("bob", small=5.0, large=4.0), "of bob")
    store.save(in_workloads("bob", small=3.0, large=4.0), "of bob")
    assert ranking(store, "small") == [(1, "bob", 3.0, 2.0, 6.0), (2, "ada", 2.0, 2.0, 4.0)]
    assert [author for _, author, *_ in ranking(store, "large")] == ["bob"]


def test_reduced_precision_is_ranked_on_request(store: Store) -> None:
    store.save(in_workloads("ada", Category.REDUCED_PRECISION, small=2.0), "of ada")
    assert ranking(store, "small") == []
    assert [author for _, author, *_ in ranking(store, "small", reduced_precision=True)] == ["ada"]


def test_a_workload_is_a_known_case(store: Store) -> None:
    store.save(in_workloads("ada", small=2.0), "of ada")
    require_known(store, Filters(case="small"))
    with pytest.raises(StoreError, match="no case 'smal'"):
        require_known(store, Filters(case="smal"))


def test_evidence_of_workloads_comes_back_as_it_was_saved(store: Store) -> None:
    saved = in_workloads("ada", small=2.0, large=None)
    number = store.save(saved, "of ada")
    found = store.get(number)
    assert found is not None
    assert found.result.evidence == saved.evidence
    assert found.result.speedup_interval == saved.speedup_interval
