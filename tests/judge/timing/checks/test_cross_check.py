"""The cross-check: a submission's times against the judge's clock and the baseline's."""

from typing import Any

import pytest

from evaluator.judge import limits
from evaluator.judge.timing.checks.cross_check import ON_CPU, ON_DEVICE, Excess, Sides, compare
from evaluator.results.evidence import TimingEvidence, TimingSide


def side(
    call_ms: float = 1.0, beyond_ms: float = 0.25, reveal_ms: float = 0.5, single_ms: float = 1.2, burst_ms: float = 1.3, **others: Any
) -> TimingSide:
    """A side whose calls take equally long, and whose requests take `beyond_ms` longer than claimed. Compared with IDLE it is honest."""
    found = TimingSide(
        median_ms=call_ms,
        lower_quartile_ms=call_ms,
        upper_quartile_ms=call_ms,
        samples_ms=(call_ms,) * 5,
        wall_ms=(call_ms + beyond_ms,) * 5,
        reveal_ms=(reveal_ms,) * 5,
        single_ms=(single_ms,) * 5,
        burst_ms=(burst_ms,) * 5,
    )
    return found.model_copy(update=others)


def idle(**others: Any) -> TimingSide:
    """The baseline alone, whose single requests and bursts are without calls."""
    return side(single_ms=0.2, burst_ms=0.3).model_copy(update=others)


IDLE = idle()


def on_device(candidate: TimingSide, alone: TimingSide = IDLE, in_a_row: int = 8) -> TimingEvidence:
    return compare(Sides(candidate, side(), alone, in_a_row=in_a_row), on_device=True)


@pytest.mark.parametrize("excess", [*ON_DEVICE, *ON_CPU], ids=lambda excess: f"{excess.charge} by {excess.samples}")
def test_each_measurement_alone_is_charged(excess: Excess) -> None:
    times = {name: (0.1,) * 5 for name, field in TimingSide.model_fields.items() if field.default == () and name.endswith("_ms")}
    usual = side().model_copy(update=times)
    late = usual.model_copy(update={excess.samples: (10.0,) * 5})
    timing = compare(Sides(late, usual, usual), on_device=excess in ON_DEVICE)
    assert TimingEvidence.model_validate(timing.model_dump()) == timing, "the charge is a field of the record"
    assert getattr(timing, excess.charge) > 8 and timing.runtime_ms > 8


SHORTENED = {"call_ms": 2.0, "beyond_ms": 8.25, "single_ms": 0.3, "burst_ms": 0.4}


@pytest.mark.parametrize(
    ("candidate", "unclaimed_ms"),
    [
        pytest.param(side(call_ms=0.5, single_ms=0.7, burst_ms=0.8), 0.0, id="honest"),
        pytest.param(side(call_ms=0.1, single_ms=1.2, burst_ms=0.4), 0.9, id="single calls show it"),
        pytest.param(side(call_ms=0.1, single_ms=0.3, burst_ms=1.4), 1.0, id="bursts alone show it"),
        pytest.param(side(**SHORTENED), 8.0, id="whole requests show it where the other clocks were deceived"),
        pytest.param(
            side(**SHORTENED, samples_ms=(2.0,) * 28 + (100.0,) * 2, wall_ms=(0.2,) * 2 + (10.25,) * 28),
            8.0,
            id="a few long claims and short requests hide nothing",
        ),
        pytest.param(side(call_ms=0.1, beyond_ms=0.5, single_ms=0.3, burst_ms=0.4), 0.0, id="the talk varies by so much"),
        pytest.param(side(call_ms=1.0, single_ms=0.7, burst_ms=0.8), 0.0, id="less behind the gate than claimed"),
        pytest.param(
            side(call_ms=0.1).model_copy(update={"single_ms": (0.3, 8.0, 0.3, 8.0, 8.0), "burst_ms": (1.3, 0.4, 1.3, 1.3, 0.4)}),
            0.0,
            id="others on the machine delay calls",
        ),
    ],
)
def test_what_claims_leave_out_is_charged(candidate: TimingSide, unclaimed_ms: float) -> None:
    timing = on_device(candidate)
    assert (timing.calls, timing.clock) == (len(candidate.samples_ms), "cuda_event")
    assert timing.unclaimed_ms == pytest.approx(unclaimed_ms)
    assert timing.runtime_ms == pytest.approx(candidate.median_ms + unclaimed_ms)


@pytest.mark.parametrize("calls", [1, 2])
def test_a_slow_baselines_spread_is_not_held_against_a_fast_candidate(calls: int) -> None:
    """Each of its requests takes 0.25 ms beyond its calls, which differ by more than the candidate's calls take."""
    claims_ms = (48.0, 49.0, 50.0, 51.0, 52.0)
    requests: dict[str, Any] = {"samples_ms": sum(((ms - 0.5 * (calls - 1), ms + 0.5 * (calls - 1))[:calls] for ms in claims_ms), ())}
    slow = side(call_ms=50.0, wall_ms=tuple(ms + 0.25 for ms in claims_ms), **requests)
    alone = slow.model_copy(update={"single_ms": (0.2,) * 5, "burst_ms": (0.3,) * 5})
    timing = compare(Sides(side(call_ms=1.0), slow, alone, in_a_row=1), on_device=True)
    assert timing.unclaimed_ms == 0.0


def test_large_calls_have_no_bursts() -> None:
    few = side(call_ms=0.1, single_ms=0.3).model_copy(update={"burst_ms": ()})
    assert on_device(few, idle(burst_ms=())).unclaimed_ms == 0.0


@pytest.mark.parametrize(
    ("gated", "in_a_row", "call_ms", "single_late_ms", "burst_late_ms", "charged"),
    [
        (True, 8, 0.1, 0.019, 0.0, False),
        (True, 8, 0.1, 0.021, 0.0, True),
        (True, 8, 1.0, 0.049, 0.0, False),
        (True, 8, 1.0, 0.051, 0.0, True),
        # The calls of a burst share the slack. It is more if a row takes long without its calls.
        (True, 2, 0.1, 0.0, 0.0099, False),
        (True, 2, 0.1, 0.0, 0.0101, True),
        (True, 16, 0.1, 0.0, 0.0059, False),
        (True, 16, 0.1, 0.0, 0.0061, True),
        # In a burst a short claim falls short by no more than half of it.
        (True, 16, 0.005, 0.0, 0.0024, False),
        (True, 16, 0.005, 0.0, 0.0026, True),
        # Where the host's time is in the clock, the slack is wider.
        (False, 8, 0.1, 0.14, 0.018, False),
        (False, 8, 0.1, 0.16, 0.018, True),
        (False, 8, 0.1, 0.14, 0.019, True),
        (False, 16, 0.1, 0.0, 0.009, False),
        (False, 16, 0.1, 0.0, 0.010, True),
        (False, 16, 0.005, 0.0, 0.0024, False),
        (False, 16, 0.005, 0.0, 0.0026, True),
    ],
)
def test_claims_within_the_slack_stand(
    gated: bool, in_a_row: int, call_ms: float, single_late_ms: float, burst_late_ms: float, charged: bool
) -> None:
    late = side(call_ms=call_ms, single_ms=0.2 + call_ms + single_late_ms, burst_ms=0.3 + call_ms + burst_late_ms)
    timing = compare(Sides(late, side(), IDLE, gated=gated, in_a_row=in_a_row), on_device=True)
    assert ((timing.unclaimed_ms > 0), timing.gated) == (charged, gated)


@pytest.mark.parametrize(("hot_ms", "unclaimed_ms"), [(0.06, 0.04), (0.019, 0.0)])
def test_what_is_done_while_caches_are_flushed_shows_without_flushes(hot_ms: float, unclaimed_ms: float) -> None:
    candidate = side(call_ms=0.01, single_ms=0.21, burst_ms=0.31, hot_ms=(hot_ms,) * 5)
    assert on_device(candidate, idle(hot_ms=(0.01,) * 5)).unclaimed_ms == pytest.approx(unclaimed_ms)


def test_events_are_a_part_of_the_claim_and_of_no_burst() -> None:
    fewer = side(call_ms=0.1, beyond_ms=0.26, single_ms=0.31, burst_ms=0.4, blank_ms=0.01)
    timing = on_device(fewer, in_a_row=16)
    assert fewer.claim_ms == pytest.approx(0.11)
    assert (timing.unclaimed_ms, timing.runtime_ms) == (0.0, 0.1)
    led = fewer.model_copy(update={"launch_lead_ms": 2.0, "wall_ms": tuple(wall_ms + 2.0 for wall_ms in fewer.wall_ms)})
    assert on_device(led, in_a_row=16).unclaimed_ms == 0.0, "which is in no call"
    late = fewer.model_copy(update={"burst_ms": (0.4 + 0.009,) * 5})
    assert on_device(late, in_a_row=16).unclaimed_ms == pytest.approx(0.009 - limits.LAUNCH_GAP_MS)


@pytest.mark.parametrize(("on_gpu", "reveal_ms", "late_ms"), [(0, 0.62, 0.0), (0, 0.75, 0.25), (1, 2.5, 0.0)])
def test_answers_that_arrive_late_are_charged_on_the_cpu(on_gpu: int, reveal_ms: float, late_ms: float) -> None:
    """On a GPU, the times of single calls and bursts last until the judge has the output."""
    timing = compare(Sides(side(reveal_ms=reveal_ms), side(), IDLE, in_a_row=8), on_device=bool(on_gpu))
    assert timing.deferred_ms == pytest.approx(late_ms)


@pytest.mark.parametrize(("gated", "burst_ms", "contested"), [(True, 1.3, False), (True, 1.9, True), (False, 1.9, False)])
def test_a_charge_behind_the_gate_contests_a_timing(gated: bool, burst_ms: float, contested: bool) -> None:
    timing = compare(Sides(side(burst_ms=burst_ms), side(), IDLE, gated=gated, in_a_row=8), on_device=True)
    assert timing.is_contested is contested and (timing.unclaimed_ms > 0) is (burst_ms > 1.3)


def test_processor_time_after_a_call_is_charged() -> None:
    busy, alone = side(background_ms=(0.9, 1.1)), side(background_ms=(0.0, 0.0))
    timing = compare(Sides(busy, side(), alone), on_device=False)
    assert timing.background_ms == pytest.approx(1.0)
    assert timing.unclaimed_ms == 0.0
    assert timing.runtime_ms == pytest.approx(1.0 + 1.0)


LAZY = {
    "busy_ms": (0.1,) * 8 + (5.0,) * 7,
    "reveal_busy_ms": (5.0,) * 4 + (0.1,) * 3,
    "reveal_ms": (0.5,) * 4 + (5.4,) * 3,
}
"""Computes in time when its last answers have been looked at rather often."""


def test_who_puts_work_off_when_it_seems_safe_pays_for_the_calls_that_were_looked_at() -> None:
    timing = compare(Sides(side(call_ms=0.1).model_copy(update=LAZY), side(), IDLE), on_device=False)
    assert timing.arrives_late_ms == pytest.approx(4.9) and timing.runtime_ms == pytest.approx(5.0)
    assert timing.deferred_ms == 0.0


def test_who_works_on_after_some_of_its_answers_pays_for_the_calls_that_were_watched() -> None:
    lazy = {"busy_ms": LAZY["busy_ms"], "background_busy_ms": LAZY["reveal_busy_ms"], "background_ms": (0.0,) * 4 + (4.9,) * 3}
    timing = compare(Sides(side(call_ms=0.1).model_copy(update=lazy), side(), side(background_ms=(0.0, 0.0))), on_device=False)
    assert timing.arrives_late_ms == pytest.approx(4.9) and timing.background_ms == 0.0


@pytest.mark.parametrize(("more_ms", "charged"), [(0.0, False), (0.2, False), (0.3, True)])
def test_calls_that_take_what_others_do_are_charged_nothing_for_being_looked_at(more_ms: float, charged: bool) -> None:
    looked_at = {"busy_ms": (1.0,) * 9, "reveal_busy_ms": (1.0,) * 5, "reveal_ms": (0.5 + more_ms,) * 5}
    timing = compare(Sides(side().model_copy(update=looked_at), side(), IDLE), on_device=False)
    assert (timing.arrives_late_ms > 0) is charged


@pytest.mark.parametrize(
    ("arrivals_ms", "late_ms"),
    [((0.6, 0.7, 8.0, 8.0, 8.0), 0.0), ((1.0,) * 5, 0.5), ((0.6, 1.5, 1.5, 1.5, 1.5), 1.0)],
)
def test_on_the_cpu_answers_that_all_arrive_late_by_the_clock_are_charged(arrivals_ms: tuple[float, ...], late_ms: float) -> None:
    late = side().model_copy(update={"arrival_ms": arrivals_ms})
    timing = compare(Sides(late, side(), idle(arrival_ms=(0.4, 0.5, 0.5, 0.5, 3.0))), on_device=False)
    assert (timing.arrives_late_ms, timing.runtime_ms) == pytest.approx((late_ms, 1.0 + late_ms))
    assert timing.deferred_ms == 0.0
