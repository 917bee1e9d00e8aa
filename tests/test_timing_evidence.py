"""What a time and a baseline come to, from what was measured."""

import pytest

from evaluator.result import TimingEvidence, TimingSide


def side(*samples_ms: float) -> TimingSide:
    lower, median, upper = samples_ms
    return TimingSide(median_ms=median, lower_quartile_ms=lower, upper_quartile_ms=upper, samples_ms=samples_ms)


def evidence(baseline: TimingSide, alone_ms: tuple[float, ...] = ()) -> TimingEvidence:
    return TimingEvidence(clock="judge_wall", calls=3, candidate=side(0.9, 1.0, 1.1), baseline=baseline, baseline_alone_ms=alone_ms)


def test_what_was_left_out_of_the_calls_is_added() -> None:
    charged_ms = {"deferred_ms": 0.5, "background_ms": 0.25, "unclaimed_ms": 0.125}
    timing = evidence(side(2.0, 2.0, 2.0)).model_copy(update=charged_ms)
    assert timing.runtime_ms == pytest.approx(1.875)


@pytest.mark.parametrize(
    ("baseline", "alone_ms", "disturbed", "baseline_ms"),
    [
        (side(2.9, 3.0, 3.1), (2.0, 2.0, 2.1, 1.9), True, 2.0),
        (side(2.15, 2.18, 2.2), (2.0, 2.0, 2.1, 1.9), False, 2.18),  # less than a tenth
        (side(2.0, 3.0, 4.0), (1.5, 2.0, 2.5, 2.0), False, 3.0),  # within the spread
        (side(1.0, 1.1, 1.2), (2.0, 2.0, 2.1, 1.9), False, 1.1),  # alone it was slower
        (side(2.9, 3.0, 3.1), (), False, 3.0),
    ],
)
def test_a_baseline_that_the_candidate_disturbed(
    baseline: TimingSide, alone_ms: tuple[float, ...], disturbed: bool, baseline_ms: float
) -> None:
    timing = evidence(baseline, alone_ms)
    assert timing.disturbed is disturbed
    assert timing.baseline_ms == pytest.approx(baseline_ms)
