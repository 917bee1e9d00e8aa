"""Figures over many problems, against values worked out by hand or counted out."""

import itertools
import math
import statistics

import pytest

from db.queries.statistics import FAILURE_SPEEDUP, fast_p, geometric_mean, mean_ratio, pass_at_k, sign_test
from db.storage.interval import median_interval, speedup_interval


def test_fast_p_is_the_share_of_all_problems() -> None:
    # KernelBench's definition, over four problems of which one is not solved.
    speedups = [0.4, 1.0, 3.0, None]
    assert [fast_p(speedups, p) for p in (0, 0.5, 0.8, 1, 1.5, 2)] == [0.75, 0.5, 0.5, 0.25, 0.25, 0.25]


def test_fast_p_asks_for_more_than_p() -> None:
    assert fast_p([2.0], 2.0) == 0.0
    assert fast_p([], 1.0) == 0.0


@pytest.mark.parametrize(("samples", "right"), [(1, 0), (1, 1), (5, 2), (6, 1), (7, 7), (7, 3)])
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(samples: int, right: int) -> None:
    outcomes = [number < right for number in range(samples)]
    for k in range(1, samples + 1):
        draws = list(itertools.combinations(outcomes, k))
        assert pass_at_k(samples, right, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_pass_at_k_agrees_with_the_published_product() -> None:
    # The numerically stable form that the paper prints: 1 - prod(1 - k / i for i in n - c + 1 .. n).
    for samples, right, k in ((200, 17, 10), (50, 3, 5), (100, 99, 1)):
        product = math.prod(1 - k / number for number in range(samples - right + 1, samples + 1))
        assert pass_at_k(samples, right, k) == pytest.approx(1 - product)


@pytest.mark.parametrize(("samples", "right", "k"), [(3, 1, 4), (3, 4, 1), (3, 1, 0), (0, 0, 1), (3, -1, 1)])
def test_pass_at_k_of_too_few_samples_is_refused(samples: int, right: int, k: int) -> None:
    with pytest.raises(ValueError, match="pass@"):
        pass_at_k(samples, right, k)


def test_the_geometric_mean_counts_failures() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([1.0, None]) == pytest.approx(math.sqrt(FAILURE_SPEEDUP))
    assert geometric_mean([None]) == pytest.approx(FAILURE_SPEEDUP)
    assert geometric_mean([]) is None


def test_failing_never_beats_being_slow() -> None:
    assert geometric_mean([0.001, 1.0]) == pytest.approx(geometric_mean([None, 1.0]))
    assert geometric_mean([0.2, 1.0]) > geometric_mean([None, 1.0])  # type: ignore[operator]


@pytest.mark.parametrize(
    ("wins", "losses", "expected"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 5, 1.0), (6, 0, 2 / 64), (0, 6, 2 / 64), (9, 1, 2 * 11 / 1024), (7, 3, 2 * 176 / 1024)],
)
def test_sign_test(wins: int, losses: int, expected: float) -> None:
    assert sign_test(wins, losses) == pytest.approx(expected)


def test_sign_test_of_very_many() -> None:
    assert 0 < sign_test(600, 400) < 1e-9


def test_mean_ratio() -> None:
    mean = mean_ratio([2.0, 8.0, 4.0, 4.0, 2.0, 8.0])
    assert mean is not None
    assert mean[0] == pytest.approx(4.0)
    assert 2.0 <= mean[1] < 4.0 < mean[2] <= 8.0
    assert mean_ratio([2.0, 8.0, 4.0, 4.0, 2.0, 8.0]) == mean
    assert mean_ratio([3.0]) == pytest.approx((3.0, 3.0, 3.0))
    assert mean_ratio([]) is None


@pytest.mark.parametrize(
    ("count", "skipped"), [(5, 0), (6, 0), (8, 0), (9, 1), (10, 1), (20, 5), (30, 9), (100, 39), (999, 468), (1000, 468)]
)
def test_median_intervals_leave_out_as_many_as_the_tables_say(count: int, skipped: int) -> None:
    assert median_interval([float(value) for value in range(count)]) == (skipped, count - 1 - skipped)
    if count in range(6, 1000):
        tail = sum(math.comb(count, heads) for heads in range(skipped + 1))
        assert tail <= 0.025 * 2**count < tail + math.comb(count, skipped + 1)


def test_a_speedup_lies_in_its_interval() -> None:
    candidate = [1.0 + 0.01 * (number % 7) for number in range(30)]
    baseline = [2.0 + 0.03 * (number % 5) for number in range(30)]
    ratio = statistics.median(baseline) / statistics.median(candidate)
    low, high = speedup_interval(candidate, baseline, ratio)
    assert 1.5 < low < ratio < high < 2.5
    assert speedup_interval(candidate, baseline, ratio / 2) == pytest.approx((low / 2, high / 2))


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    import random

    draw, covered = random.Random(7), 0
    for _ in range(400):
        candidate = [draw.lognormvariate(0, 0.1) for _ in range(20)]
        baseline = [draw.lognormvariate(math.log(2), 0.1) for _ in range(20)]
        ratios = [b / c for b, c in zip(baseline, candidate, strict=True)]
        low, high = speedup_interval(candidate, baseline, statistics.median(ratios))
        covered += low <= 2 <= high
    assert 0.93 <= covered / 400 <= 0.995


@pytest.mark.parametrize(("candidate", "baseline"), [([1.0] * 5, [2.0] * 5), ([], []), ([0.0] * 10, [2.0] * 10), ([1.0] * 10, [2.0, 2.0])])
def test_too_few_samples_give_a_point(candidate: list[float], baseline: list[float]) -> None:
    assert speedup_interval(candidate, baseline, 2.0) == (2.0, 2.0)


def test_sides_of_different_length_give_a_wider_interval() -> None:
    candidate = [1.0 + 0.01 * (number % 7) for number in range(30)]
    baseline = [2.0 + 0.03 * (number % 5) for number in range(12)]
    low, high = speedup_interval(candidate, baseline, 2.0)
    assert low < 2.0 < high
