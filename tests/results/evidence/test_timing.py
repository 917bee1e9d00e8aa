"""A side's time and a baseline's, from the measurements."""

import pytest

from evaluator.results.evidence import TimingEvidence, TimingSide


def side(*samples_ms: float) -> TimingSide:
    lower, median, upper = samples_ms
    return TimingSide(median_ms=median, lower_quartile_ms=lower, upper_quartile_ms=upper, samples_ms=samples_ms)


STEADY, LOADED = (0.9, 1.0, 1.1), (0.7, 1.0, 1.3)
"""Samples of a candidate: its quartiles."""


def evidence(baseline: TimingSide, alone: TimingSide | None = None, candidate: tuple[float, ...] = STEADY) -> TimingEvidence:
    return TimingEvidence(clock="judge_wall", calls=3, candidate=side(*candidate), baseline=baseline, alone=alone)


def test_what_was_left_out_of_the_calls_is_added_and_an_answer_that_is_late_once() -> None:
    charged_ms = {"ahead_ms": 1.0, "deferred_ms": 0.5, "background_ms": 0.25, "unclaimed_ms": 0.125}
    timing = evidence(side(2.0, 2.0, 2.0)).model_copy(update=charged_ms)
    assert timing.runtime_ms == pytest.approx(2.75), "an answer that is late may show in bursts too"


@pytest.mark.parametrize(
    ("baseline", "alone", "candidate", "disturbed", "baseline_ms"),
    [
        (side(2.9, 3.0, 3.1), side(1.95, 2.0, 2.05), STEADY, True, 2.0),
        (side(2.9, 3.0, 3.1), side(1.95, 2.0, 2.05), LOADED, True, 2.0),
        (side(2.15, 2.18, 2.2), side(1.95, 2.0, 2.05), STEADY, False, 2.18),  # less than a tenth
        (side(2.0, 3.0, 4.0), side(1.5, 2.0, 2.5), STEADY, True, 2.0),  # in most of its calls, and the candidate is steady
        (side(2.0, 3.0, 4.0), side(1.5, 2.0, 2.5), LOADED, False, 3.0),  # other load lengthens calls of both
        (side(2.0, 3.0, 4.0), side(1.5, 2.0, 3.5), STEADY, False, 3.0),  # within the spread that it has alone
        (side(1.0, 1.1, 1.2), side(1.95, 2.0, 2.05), STEADY, False, 1.1),  # alone it was slower
        (side(2.9, 3.0, 3.1), None, STEADY, False, 3.0),
    ],
)
def test_a_baseline_that_the_candidate_disturbed(
    baseline: TimingSide, alone: TimingSide | None, candidate: tuple[float, ...], disturbed: bool, baseline_ms: float
) -> None:
    timing = evidence(baseline, alone, candidate)
    assert timing.disturbed is disturbed
    assert timing.baseline_ms == pytest.approx(baseline_ms)


@pytest.mark.parametrize(
    ("baseline", "alone", "disturbed", "baseline_ms"),
    [
        (side(1.8, 1.9, 2.0), side(0.2, 1.83, 1.84), True, 0.2),  # other load lengthened most calls, alone too
        (side(0.2, 1.9, 2.0), side(0.3, 1.0, 2.0), False, 0.2),
        (side(0.21, 1.9, 2.0), side(0.2, 0.3, 0.4), False, 0.21),  # less than a tenth
    ],
)
def test_beside_other_processes_of_a_submission_lower_quartiles_of_the_baseline_count(
    baseline: TimingSide, alone: TimingSide, disturbed: bool, baseline_ms: float
) -> None:
    timing = evidence(baseline, alone).model_copy(update={"baseline_statistic": "lower_quartile"})
    assert timing.statistic == "median" and timing.disturbed is disturbed
    assert timing.baseline_ms == pytest.approx(baseline_ms) and timing.ratio == pytest.approx(baseline_ms)


def test_an_older_record_may_call_the_launch_lead_a_head_start() -> None:
    told = side(1.0, 2.0, 3.0).model_dump()
    lead = told.pop("launch_lead_ms") + 0.25
    assert TimingSide.model_validate(told | {"head_start_ms": lead}) == side(1.0, 2.0, 3.0).model_copy(update={"launch_lead_ms": lead})
