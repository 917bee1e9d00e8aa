"""The score over several workloads."""

import math
from typing import Any

import pytest

from evaluator.results.evidence import TimingEvidence, TimingSide, WorkloadEvidence
from evaluator.results.score import UNSOLVED_SPEEDUP, overall_interval, overall_ms


def side(time_ms: float) -> TimingSide:
    return TimingSide(median_ms=time_ms, lower_quartile_ms=time_ms, upper_quartile_ms=time_ms, samples_ms=(time_ms,))


def timing(runtime_ms: float, baseline_ms: float, spread: float = 0.0, **more: Any) -> TimingEvidence:
    ratio = baseline_ms / runtime_ms
    told: dict[str, Any] = {"clock": "cuda_event", "interval": (ratio / (1 + spread), ratio * (1 + spread)), **more}
    return TimingEvidence(calls=1, candidate=side(runtime_ms), baseline=side(baseline_ms), **told)


def solved(timed: TimingEvidence) -> WorkloadEvidence:
    return WorkloadEvidence(case="a", right=True, timing=timed)


def test_one_case_is_its_own_score() -> None:
    assert overall_ms(timing(2.0, 6.0)) == (2.0, 6.0)
    wide = math.exp(math.hypot(math.log(1.1), 0.007))
    assert overall_interval(timing(2.0, 6.0, 0.1), 3.0) == pytest.approx((3 / wide, 3 * wide), rel=1e-6)


@pytest.mark.parametrize(
    ("clock", "runtime_ms", "baseline_ms", "between"),
    [
        *(("cuda_event", 1e-3, 4e-3, 0.45), ("cuda_event", 9.0, 9.0, 0.007)),
        *(("judge_wall", 0.03, 0.03, math.hypot(0.1, 0.1)), ("judge_wall", 30.0, 30.0, 0.1)),
    ],
)
def test_a_process_of_its_own_widens_short_calls_most(clock: str, runtime_ms: float, baseline_ms: float, between: float) -> None:
    speedup = baseline_ms / runtime_ms
    held = overall_interval(timing(runtime_ms, baseline_ms, clock=clock), speedup)
    assert held is not None
    assert [math.log(end / speedup) for end in held] == pytest.approx([-between, between], rel=1e-3)


def test_the_score_is_the_geometric_mean() -> None:
    workloads = (solved(timing(1.0, 2.0)), solved(timing(1.0, 8.0)))
    assert overall_ms(timing(1.0, 2.0, workloads=workloads)) == pytest.approx((1.0, 4.0))


def test_an_unsolved_workload_lowers_the_score_and_not_the_baselines_time() -> None:
    workloads = (solved(timing(1.0, 2.0)), WorkloadEvidence(case="b", right=False))
    runtime_ms, baseline_ms = overall_ms(timing(1.0, 2.0, workloads=workloads))
    assert baseline_ms == pytest.approx(2.0)
    assert baseline_ms / runtime_ms == pytest.approx(math.sqrt(2.0 * UNSOLVED_SPEEDUP))


def test_the_interval_of_many_workloads_is_narrower() -> None:
    one = solved(timing(1.0, 2.0, 0.1))
    held = overall_interval(timing(1.0, 2.0, workloads=(one,) * 4), 2.0)
    assert held is not None
    low, high = held
    wide = math.hypot(math.log(1.1) / 2, 0.007)  # what processes differ in does not become less
    assert [math.log(high / 2.0), math.log(2.0 / low)] == pytest.approx([wide] * 2, rel=1e-4)


def test_what_is_charged_in_a_workload_lengthens_its_time() -> None:
    charged = timing(1.0, 2.0, unclaimed_ms=1.0)
    assert overall_ms(timing(1.0, 2.0, workloads=(solved(charged), solved(charged)))) == pytest.approx((2.0, 2.0))


def test_without_the_interval_of_one_workload_there_is_none() -> None:
    workloads = (solved(timing(1.0, 2.0)), solved(timing(1.0, 2.0, interval=None)))
    assert overall_interval(timing(1.0, 2.0, workloads=workloads), 2.0) is None
