"""Figures over many problems, against values worked out by hand or counted out."""

import itertools
import math
import statistics

import pytest

from db.queries.statistics import FAILURE_SPEEDUP, fast_p, geometric_mean, mean_ratio, pass_at_k, sign_test
from db.storage.interval import median_interval, speedup_interval

pytestmark = pytest.mark.slow(1)


def test_fast_p_is_the_share_of_all_problems() -> None:
    # KernelBench's definition, over four problems of which one is not solved.
    speedups = [0.4, 1.0, 3.0, None]
    assert [fast_p(speedups, p) for p in (0, 0.5, 0.8, 1, 1.5, 2)] == [0.75, 0.5, 0.5, 0.25, 0.25, 0.25]
    assert fast_p([2.0], 2.0) == fast_p([], 1.0) == 0.0, "it asks for more than p"


def test_pass_at_k_is_the_share_of_draws_with_a_right_one() -> None:
    for samples, right in ((1, 0), (1, 1), (5, 2), (6, 1), (7, 7), (7, 3)):
        outcomes = [number < right for number in range(samples)]
        for k in range(1, samples + 1):
            draws = list(itertools.combinations(outcomes, k))
            assert pass_at_k(samples, right, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    for samples, right, k in ((3, 1, 4), (3, 4, 1), (3, 1, 0), (0, 0, 1), (3, -1, 1)):
        with pytest.raises(ValueError, match="pass@"):
            pass_at_k(samples, right, k)


def test_the_geometric_mean_counts_failures() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([1.0, None]) == pytest.approx(math.sqrt(FAILURE_SPEEDUP))
    assert geometric_mean([None]) == pytest.approx(FAILURE_SPEEDUP)
    assert geometric_mean([]) is None
    assert geometric_mean([0.001, 1.0]) == pytest.approx(geometric_mean([None, 1.0])), "failing never beats being slow"
    assert geometric_mean([0.2, 1.0]) > geometric_mean([None, 1.0])  # type: ignore[operator]


def test_sign_test() -> None:
    for wins, losses, twice in (
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 5, 1.0),
        (6, 0, 2 / 64),
        (0, 6, 2 / 64),
        (9, 1, 22 / 1024),
        (7, 3, 352 / 1024),
    ):
        assert sign_test(wins, losses) == pytest.approx(twice)
    assert 0 < sign_test(600, 400) < 1e-9


def test_mean_ratio() -> None:
    mean = mean_ratio([2.0, 8.0, 4.0, 4.0, 2.0, 8.0])
    assert mean is not None
    assert mean[0] == pytest.approx(4.0)
    assert 2.0 <= mean[1] < 4.0 < mean[2] <= 8.0
    assert mean_ratio([2.0, 8.0, 4.0, 4.0, 2.0, 8.0]) == mean
    assert mean_ratio([3.0]) == pytest.approx((3.0, 3.0, 3.0))
    assert mean_ratio([]) is None


def test_median_intervals_leave_out_as_many_as_the_tables_say() -> None:
    tables = {5: 0, 6: 0, 8: 0, 9: 1, 10: 1, 20: 5, 30: 9, 100: 39, 999: 468, 1000: 468}
    for count, skipped in tables.items():
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
    shorter = speedup_interval(candidate, baseline[:12], 2.0)
    assert shorter[0] < 2.0 < shorter[1], "sides of different length"
    for few, other in (([1.0] * 5, [2.0] * 5), ([], []), ([0.0] * 10, [2.0] * 10), ([1.0] * 10, [2.0, 2.0])):
        assert speedup_interval(few, other, 2.0) == (2.0, 2.0), "too few give a point"


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
