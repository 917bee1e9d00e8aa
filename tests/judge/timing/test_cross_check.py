"""What figures of a timing come to, held against the baseline's."""

import pytest

from evaluator.judge.timing.cross_check import LAUNCH_GAP_MS, compare
from evaluator.results.evidence import TimingEvidence, TimingSide


def side(
    call_ms: float = 1.0,
    beyond_ms: float = 0.25,
    reveal_ms: float = 0.5,
    single_ms: float = 1.2,
    burst_ms: float = 1.3,
    ahead_ms: tuple[float, ...] = (),
    background_ms: tuple[float, ...] = (),
) -> TimingSide:
    """One whose calls all take the same, and whose requests take `beyond_ms` more than they claim; honest, if IDLE is held against it."""
    return TimingSide(
        median_ms=call_ms,
        lower_quartile_ms=call_ms,
        upper_quartile_ms=call_ms,
        samples_ms=(call_ms,) * 5,
        wall_ms=(call_ms + beyond_ms,) * 5,
        reveal_ms=(reveal_ms,) * 5,
        single_ms=(single_ms,) * 5,
        burst_ms=(burst_ms,) * 5,
        ahead_ms=ahead_ms,
        background_ms=background_ms,
    )


IDLE = side(single_ms=0.2, burst_ms=0.3)
"""The baseline alone, whose single requests and bursts are without calls."""


def on_device(candidate: TimingSide, alone: TimingSide = IDLE, in_a_row: int = 8) -> TimingEvidence:
    return compare(candidate, side(), alone, on_device=True, in_a_row=in_a_row)


def test_an_honest_candidate_is_charged_nothing() -> None:
    timing = on_device(side(call_ms=0.5, single_ms=0.7, burst_ms=0.8))
    assert timing.runtime_ms == pytest.approx(0.5)
    assert timing.unexplained_ms == pytest.approx(0.0)
    assert (timing.calls, timing.clock) == (5, "cuda_event")


def test_what_single_calls_leave_out_is_charged() -> None:
    timing = on_device(side(call_ms=0.1, single_ms=1.2, burst_ms=0.4))
    assert timing.unclaimed_ms == pytest.approx(0.9)
    assert timing.unexplained_ms == pytest.approx(0.9)


def test_a_false_claim_shows_over_the_whole_request_where_the_other_clocks_were_deceived() -> None:
    timing = on_device(side(call_ms=2.0, beyond_ms=8.25, single_ms=0.3, burst_ms=0.4))
    assert timing.unclaimed_ms == pytest.approx(8.0)
    assert timing.unexplained_ms == pytest.approx(7.7)


def test_a_worker_that_says_too_early_that_it_is_done_is_charged_until_the_answer_is_there() -> None:
    early = side(call_ms=0.01, single_ms=0.21, burst_ms=0.31).model_copy(update={"landed_ms": (1.5,) * 5})
    alone = IDLE.model_copy(update={"landed_ms": (0.4,) * 5})
    assert on_device(early, alone).unclaimed_ms == pytest.approx(1.09)


def test_a_few_long_claims_and_short_requests_hide_nothing() -> None:
    shortened = side(call_ms=2.0, beyond_ms=8.25, single_ms=0.3, burst_ms=0.4)
    few = {"samples_ms": (2.0,) * 28 + (100.0,) * 2, "wall_ms": (0.2,) * 2 + (10.25,) * 28}
    assert on_device(shortened.model_copy(update=few)).unexplained_ms == pytest.approx(7.7)


@pytest.mark.parametrize("calls", [1, 2])
def test_a_slow_baselines_spread_is_not_held_against_a_fast_candidate(calls: int) -> None:
    """Each of its requests takes 0.25 ms beyond its calls, which differ by more than the candidate's calls take."""
    claims_ms = (48.0, 49.0, 50.0, 51.0, 52.0)
    requests = {"samples_ms": sum(((ms - 0.5 * (calls - 1), ms + 0.5 * (calls - 1))[:calls] for ms in claims_ms), ())}
    slow = side(call_ms=50.0).model_copy(update=requests | {"wall_ms": tuple(ms + 0.25 for ms in claims_ms)})
    timing = compare(
        side(call_ms=1.0), slow, slow.model_copy(update={"single_ms": (0.2,) * 5, "burst_ms": (0.3,) * 5}), on_device=True, in_a_row=1
    )
    assert timing.unexplained_ms == pytest.approx(0.0)
    assert timing.unclaimed_ms == 0.0


def test_what_the_talk_varies_by_is_not_charged() -> None:
    assert on_device(side(call_ms=0.1, beyond_ms=0.5, single_ms=0.3, burst_ms=0.4)).unclaimed_ms == 0.0


def test_what_shows_in_bursts_alone_is_charged_and_accuses_nobody() -> None:
    timing = on_device(side(call_ms=0.1, single_ms=0.3, burst_ms=1.4))
    assert timing.unclaimed_ms == pytest.approx(1.0)
    assert timing.unexplained_ms == pytest.approx(0.0)


def test_a_call_that_takes_less_behind_the_gate_than_it_claims_is_believed() -> None:
    timing = on_device(side(call_ms=1.0, single_ms=0.7, burst_ms=0.8))
    assert (timing.unclaimed_ms, timing.runtime_ms) == (0.0, 1.0)


def test_large_calls_have_no_bursts() -> None:
    few = side(call_ms=0.1, single_ms=0.3).model_copy(update={"burst_ms": ()})
    assert on_device(few, IDLE.model_copy(update={"burst_ms": ()})).unclaimed_ms == 0.0


@pytest.mark.parametrize(("short_ms", "charged"), [(0.14, False), (0.16, True)])
def test_claims_within_the_slack_stand(short_ms: float, charged: bool) -> None:
    assert (on_device(side(call_ms=0.1, single_ms=0.3 + short_ms, burst_ms=0.4)).unclaimed_ms > 0) is charged


@pytest.mark.parametrize(("short_ms", "charged"), [(0.002, False), (0.003, True)])
def test_in_bursts_a_short_claim_falls_short_by_no_more_than_half_of_it(short_ms: float, charged: bool) -> None:
    assert (on_device(side(call_ms=0.005, single_ms=0.2, burst_ms=0.305 + short_ms), in_a_row=16).unclaimed_ms > 0) is charged


def test_what_is_done_while_caches_are_flushed_shows_without_flushes() -> None:
    hidden = side(call_ms=0.01, single_ms=0.21, burst_ms=0.31).model_copy(update={"hot_ms": (0.06,) * 5})
    idle = IDLE.model_copy(update={"hot_ms": (0.01,) * 5})
    assert on_device(hidden, idle).unclaimed_ms == pytest.approx(0.04)
    honest = hidden.model_copy(update={"hot_ms": (0.019,) * 5})
    assert on_device(honest, idle).unclaimed_ms == 0.0


def test_events_are_a_part_of_the_claim_and_of_no_burst() -> None:
    fewer = side(call_ms=0.1, beyond_ms=0.26, single_ms=0.31, burst_ms=0.4).model_copy(update={"blank_ms": 0.01})
    timing = on_device(fewer, in_a_row=16)
    assert fewer.claim_ms == pytest.approx(0.11)
    assert (timing.unclaimed_ms, timing.runtime_ms) == (0.0, 0.1)
    assert timing.unexplained_ms == pytest.approx(0.0)
    led = fewer.model_copy(update={"head_start_ms": 2.0, "wall_ms": tuple(wall_ms + 2.0 for wall_ms in fewer.wall_ms)})
    assert on_device(led, in_a_row=16).unexplained_ms == pytest.approx(0.0), "which is in no call"
    late = fewer.model_copy(update={"burst_ms": (0.4 + 0.009,) * 5})
    assert on_device(late, in_a_row=16).unclaimed_ms == pytest.approx(0.009 - LAUNCH_GAP_MS)


@pytest.mark.parametrize(("in_a_row", "short_ms", "charged"), [(16, 0.006, False), (16, 0.007, True), (8, 0.012, False), (8, 0.013, True)])
def test_calls_of_a_burst_share_the_slack(in_a_row: int, short_ms: float, charged: bool) -> None:
    late = side(call_ms=0.1, single_ms=0.3, burst_ms=0.4 + short_ms)
    assert (on_device(late, in_a_row=in_a_row).unclaimed_ms > 0) is charged


@pytest.mark.parametrize(("single_late_ms", "burst_late_ms", "charged"), [(0.24, 0.012, False), (0.26, 0.012, True), (0.24, 0.013, True)])
def test_the_slack_of_single_calls_is_wider_where_the_talk_is_in_the_clock(
    single_late_ms: float, burst_late_ms: float, charged: bool
) -> None:
    late = side(call_ms=0.1, single_ms=0.3 + single_late_ms, burst_ms=0.4 + burst_late_ms)
    timing = compare(late, side(), IDLE, on_device=True, gated=False, in_a_row=8)
    assert ((timing.unclaimed_ms > 0), timing.gated) == (charged, False)


def test_calls_that_others_on_the_machine_delay_are_not_charged() -> None:
    delayed = side(call_ms=0.1, single_ms=0.3, burst_ms=0.4)
    delayed = delayed.model_copy(update={"single_ms": (0.3, 8.0, 0.3, 8.0, 8.0), "burst_ms": (1.3, 0.4, 1.3, 1.3, 0.4)})
    assert on_device(delayed).unclaimed_ms == 0.0


def test_an_answer_that_is_slow_to_copy_is_charged_once() -> None:
    timing = on_device(side(call_ms=1.0, reveal_ms=1.5, burst_ms=2.2))
    assert [timing.deferred_ms, timing.unclaimed_ms] == pytest.approx([1.0, 0.9])
    assert timing.runtime_ms == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("on_gpu", "reveal_ms", "late_ms"), [(0, 0.62, 0.0), (0, 0.75, 0.25), (1, 0.75, 0.0), (1, 0.85, 0.35), (1, 2.5, 2.0)]
)
def test_answers_that_arrive_late_are_charged(on_gpu: int, reveal_ms: float, late_ms: float) -> None:
    timing = compare(side(reveal_ms=reveal_ms), side(), IDLE, on_device=bool(on_gpu), in_a_row=8)
    assert timing.deferred_ms == pytest.approx(late_ms)
    assert timing.is_contested == (on_gpu and late_ms > 0), "a GPU is asked once more"


def test_answers_that_others_on_the_machine_delay_are_not_charged() -> None:
    delayed = side().model_copy(update={"reveal_ms": (8.0, 0.5, 8.0, 0.5, 8.0, 8.0, 8.0)})
    assert on_device(delayed).deferred_ms == 0.0


def test_answers_that_are_delayed_on_both_sides_are_not_charged() -> None:
    delayed = side().model_copy(update={"reveal_ms": (0.6, 3.7, 3.8, 8.0, 8.0, 8.0, 8.1, 10.4)})
    alone = IDLE.model_copy(update={"reveal_ms": (0.5, 0.6, 1.3, 1.4, 6.2, 6.3, 8.1)})
    assert on_device(delayed, alone).deferred_ms == 0.0
    assert on_device(delayed).deferred_ms > 3.0, "where nothing delays the baseline"


def test_one_late_reveal_of_two_hides_nothing() -> None:
    late = side().model_copy(update={"reveal_ms": (5.0,) * 4})
    assert on_device(late, IDLE.model_copy(update={"reveal_ms": (0.9, 5.0)})).deferred_ms == pytest.approx(2.05)


def test_processor_time_around_a_call_is_charged() -> None:
    busy, idle = side(ahead_ms=(0.3, 0.5, 0.4), background_ms=(0.9, 1.1)), side(ahead_ms=(0.1,) * 3, background_ms=(0.0, 0.0))
    timing = compare(busy, side(), idle, on_device=False)
    assert [timing.ahead_ms, timing.background_ms] == pytest.approx([0.3, 1.0])
    assert (timing.unclaimed_ms, timing.unexplained_ms) == (0.0, None)
    assert timing.runtime_ms == pytest.approx(1.0 + 0.3 + 1.0)


LAZY = {
    "busy_ms": (0.1,) * 8 + (5.0,) * 7,
    "reveal_busy_ms": (5.0,) * 4 + (0.1,) * 3,
    "reveal_ms": (0.5,) * 4 + (5.4,) * 3,
}
"""Computes in time when its last answers have been looked at rather often."""


def test_who_puts_work_off_when_it_seems_safe_pays_for_the_calls_that_were_looked_at() -> None:
    timing = compare(side(call_ms=0.1).model_copy(update=LAZY), side(), IDLE, on_device=False)
    assert timing.arrives_late_ms == pytest.approx(4.9) and timing.runtime_ms == pytest.approx(5.0)
    assert timing.deferred_ms == 0.0


def test_who_works_on_after_some_of_its_answers_pays_for_the_calls_that_were_watched() -> None:
    lazy = {"busy_ms": LAZY["busy_ms"], "background_busy_ms": LAZY["reveal_busy_ms"], "background_ms": (0.0,) * 4 + (4.9,) * 3}
    timing = compare(side(call_ms=0.1).model_copy(update=lazy), side(), side(background_ms=(0.0, 0.0)), on_device=False)
    assert timing.arrives_late_ms == pytest.approx(4.9) and timing.background_ms == 0.0


@pytest.mark.parametrize(("more_ms", "charged"), [(0.0, False), (0.2, False), (0.3, True)])
def test_calls_that_take_what_others_do_are_charged_nothing_for_being_looked_at(more_ms: float, charged: bool) -> None:
    looked_at = {"busy_ms": (1.0,) * 9, "reveal_busy_ms": (1.0,) * 5, "reveal_ms": (0.5 + more_ms,) * 5}
    timing = compare(side().model_copy(update=looked_at), side(), IDLE, on_device=False)
    assert (timing.arrives_late_ms > 0) is charged


@pytest.mark.parametrize(
    ("arrivals_ms", "late_ms"),
    [((0.6, 0.7, 8.0, 8.0, 8.0), 0.0), ((1.0,) * 5, 0.5), ((0.6, 1.5, 1.5, 1.5, 1.5), 1.0)],
)
def test_on_the_cpu_answers_that_all_arrive_late_by_the_clock_are_charged(arrivals_ms: tuple[float, ...], late_ms: float) -> None:
    late = side().model_copy(update={"arrival_ms": arrivals_ms})
    timing = compare(late, side(), IDLE.model_copy(update={"arrival_ms": (0.4, 0.5, 0.5, 0.5, 3.0)}), on_device=False)
    assert (timing.arrives_late_ms, timing.runtime_ms) == pytest.approx((late_ms, 1.0 + late_ms))
    assert timing.deferred_ms == 0.0
