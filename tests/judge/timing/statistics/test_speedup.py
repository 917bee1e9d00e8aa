"""Intervals of speedups, on samples whose truth is known."""

import math

import numpy as np
import pytest

from evaluator.judge.timing.statistics.speedup import interval, is_narrow, outliers, step

DRAWS = np.random.default_rng(7)


def lognormal(median: float, spread: float, count: int) -> list[float]:
    return list(median * np.exp(DRAWS.normal(0.0, spread, count)))


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    held = 0
    for _ in range(200):
        low, high = interval(lognormal(1.0, 0.05, 40), lognormal(2.0, 0.05, 40), 40)
        held += low <= 2.0 <= high
    assert held >= 176, "95 % of 200 are 190, and fewer than 176 hardly ever"


def test_more_samples_are_surer() -> None:
    widths = []
    for count in (20, 200, 2000):
        low, high = interval(lognormal(1.0, 0.05, count), lognormal(2.0, 0.05, count), count)
        widths.append(high - low)
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2], "2000 are more than are drawn at once"


def test_what_both_of_a_pair_have_in_common_is_no_doubt() -> None:
    """A clock that drifts by a tenth lengthens both."""
    drift = np.linspace(1.0, 1.1, 100)
    candidate, baseline = np.asarray(lognormal(1.0, 0.001, 100)) * drift, np.asarray(lognormal(3.0, 0.001, 100)) * drift
    assert is_narrow(interval(list(candidate), list(baseline), 100))
    apart = interval(list(candidate), list(DRAWS.permutation(baseline)), 100)
    assert not is_narrow(apart)


def test_blocks_are_drawn_whole() -> None:
    """Samples of a block that are all alike are one observation, and not sixteen."""
    per_block = lognormal(1.0, 0.1, 20)
    baseline = lognormal(2.0, 0.001, 320)
    in_blocks = interval(list(np.repeat(per_block, 16)), baseline, 20)
    one_by_one = interval(list(np.repeat(per_block, 16)), baseline, 320)
    assert in_blocks[1] - in_blocks[0] > 1.5 * (one_by_one[1] - one_by_one[0])


def test_the_ratio_of_the_medians_is_in_the_interval() -> None:
    candidate, baseline = lognormal(1.0, 0.3, 7), lognormal(5.0, 0.3, 7)
    low, high = interval(candidate, baseline, 7)
    assert low <= float(np.median(baseline) / np.median(candidate)) <= high
    assert low > 0 and math.isfinite(high)


def test_the_ratio_of_two_statistics_is_in_the_interval() -> None:
    candidate, baseline = lognormal(1.0, 0.3, 30), [2.0] * 10 + [9.0] * 20
    low, high = interval(candidate, baseline, 30, of_baseline="lower_quartile")
    assert low <= 2.0 / float(np.median(candidate)) <= high < 9.0 / float(np.median(candidate))


def test_times_that_come_in_steps_are_not_surer_than_the_steps() -> None:
    """A clock that counts in tenths gives equal medians, though the true times may differ."""
    candidate = [1.0] * 29 + [1.1]
    low, high = interval(candidate, [2.0] * 29 + [2.1], 30)
    assert high - low > 0.02
    assert not is_narrow((low, high))


def test_unpaired_samples_may_be_of_another_number() -> None:
    low, high = interval(lognormal(1.0, 0.01, 60), lognormal(2.0, 0.01, 16), 60, paired=False)
    assert 1.9 < low < high < 2.1


def test_one_block_says_no_more_than_its_ratio() -> None:
    assert interval([2.0], [3.0], 1) == pytest.approx((1.5, 1.5))


@pytest.mark.parametrize(("found", "narrow"), [((0.996, 1.005), True), ((0.99, 1.01), False), ((1.99, 2.009), True)])
def test_narrow_is_one_per_cent(found: tuple[float, float], narrow: bool) -> None:
    assert is_narrow(found) is narrow


def test_what_is_far_beyond_the_quartiles_is_marked_and_nothing_else() -> None:
    usual = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01]
    assert outliers([*usual, 5.0, *usual, 0.1]) == (7, 15)
    assert outliers([1.0, 2.0, 50.0]) == (), "three samples have no quartiles to speak of"
    assert outliers([1.0, 1.1, 1.2, 1.3]) == ()


def test_the_step_is_the_least_difference() -> None:
    assert step([1.0, 1.5, 1.25, 1.0]) == 0.25
    assert step([2.0, 2.0]) == 0.0
