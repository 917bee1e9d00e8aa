"""When a warm-up is over."""

from evaluator.judge.timing.warmup import WARM_UP_CALLS, is_steady


def test_warm_up_ends_when_times_change_no_more() -> None:
    falling = [10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.5]
    assert not is_steady(falling[:WARM_UP_CALLS]) and not is_steady(falling)
    assert is_steady([*falling, *[1.0] * (2 * WARM_UP_CALLS)])
    assert is_steady([1.0, 1.01, 0.99, 1.0, 1.0, 1.01, 0.995, 9.0]), "one that is disturbed is not the clock"
