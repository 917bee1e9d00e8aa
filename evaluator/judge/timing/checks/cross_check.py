"""Finds time that the candidate's claims omit: each of the judge's measurements, compared with the baseline alone.

The baseline's worker is trusted. Its requests without calls show the overhead: copying inputs and outputs, the flush, the messages. It is
measured after the candidate was killed, since the candidate would gain if this overhead looked high.
"""

import statistics
from collections.abc import Callable, Sequence

from evaluator.judge import limits
from evaluator.results.evidence import TimingEvidence, TimingSide


def compare(
    candidate: TimingSide,
    baseline: TimingSide,
    alone: TimingSide,
    *,
    on_device: bool,
    gated: bool = True,
    in_a_row: int = 0,
    in_block: int = 1,
) -> TimingEvidence:
    """The evidence of a timing. alone: the baseline after the candidate has ended. gated: whether the judge's clock ran behind the gate.
    in_a_row: calls per burst. in_block: calls per timing block."""
    return TimingEvidence(
        clock="cuda_event" if on_device else "judge_wall",
        calls=len(candidate.samples_ms),
        candidate=candidate,
        baseline=baseline,
        alone=alone,
        deferred_ms=deferred_ms(candidate, alone, on_device=on_device),
        ahead_ms=_processor_ms(candidate.ahead_ms, alone.ahead_ms, in_block),
        background_ms=_processor_ms(candidate.background_ms, alone.background_ms, in_block),
        arrives_late_ms=0.0 if on_device else _arrives_late_ms(candidate, alone),
        unclaimed_ms=unclaimed_ms(candidate, baseline, alone, gated=gated, in_a_row=in_a_row) if on_device else 0.0,
        gated=gated and on_device,
        in_a_row=in_a_row,
    )


def deferred_ms(candidate: TimingSide, alone: TimingSide, *, on_device: bool) -> float:
    """How much later the candidate's outputs arrive than the baseline's; 0 within the slack. On the CPU, in CPU time."""
    if on_device:
        return _late_ms(candidate.reveal_ms, alone.reveal_ms, max(limits.TALK_SLACK_MS, limits.SLACK_SHARE * candidate.median_ms))
    baseline_ms = statistics.median(alone.reveal_ms)
    late_ms = statistics.median(candidate.reveal_ms) - baseline_ms
    return late_ms if late_ms > max(limits.CPU_SLACK_MS, limits.REVEAL_SLACK_SHARE * baseline_ms) else 0.0


def _late_ms(arrivals_ms: Sequence[float], usual_ms: Sequence[float], slack_ms: float) -> float:
    """How much later than usual outputs arrive by the clock: their lower quartile minus the usual upper quartile. 0 within the slack.

    Other processes delay arrivals and never hasten them.
    """
    if not arrivals_ms or not usual_ms:
        return 0.0
    baseline_ms = _upper_quartile(usual_ms)
    late_ms = _lower_quartile(arrivals_ms) - baseline_ms
    return late_ms if late_ms > max(slack_ms, limits.REVEAL_SLACK_SHARE * baseline_ms) else 0.0


def _arrives_late_ms(candidate: TimingSide, alone: TimingSide) -> float:
    """Time added on the CPU for outputs that are late by the clock, or for work after watched calls."""
    return max(
        _late_ms(candidate.arrival_ms, alone.arrival_ms, limits.TALK_SLACK_MS),
        _beside_calls_ms(candidate, candidate.reveal_busy_ms, candidate.reveal_ms, alone.reveal_ms),
        _beside_calls_ms(candidate, candidate.background_busy_ms, candidate.background_ms, alone.background_ms),
    )


def _beside_calls_ms(candidate: TimingSide, busy_ms: Sequence[float], extra_ms: Sequence[float], usual_ms: Sequence[float]) -> float:
    """Median CPU time of watched calls, each with the work after it, minus the median call. 0 within the slack.

    The judge chooses the watched calls at random after they end. A submission that defers the work of some calls, depending on which were
    watched before, can lower the median of the calls, and that of the work after them, but not this sum.
    """
    if not busy_ms or not usual_ms or not candidate.busy_ms:
        return 0.0
    baseline_ms = statistics.median(usual_ms)
    whole_ms = [call_ms + max(more_ms - baseline_ms, 0.0) for call_ms, more_ms in zip(busy_ms, extra_ms, strict=True)]
    late_ms = statistics.median(whole_ms) - statistics.median(candidate.busy_ms)
    return late_ms if late_ms > max(limits.CPU_SLACK_MS, limits.REVEAL_SLACK_SHARE * candidate.work_ms) else 0.0


def _processor_ms(candidate_ms: Sequence[float], baseline_ms: Sequence[float], in_block: int) -> float:
    """CPU time per call that the candidate uses beyond the baseline while neither has a request. 0 within the slack."""
    if not candidate_ms or not baseline_ms:
        return 0.0  # on a GPU, where a worker waits awake
    more_ms = statistics.median(candidate_ms) - statistics.median(baseline_ms)
    return more_ms if more_ms > limits.CPU_SLACK_MS / in_block else 0.0


def unclaimed_ms(candidate: TimingSide, baseline: TimingSide, alone: TimingSide, *, gated: bool, in_a_row: int) -> float:
    """Time per call that the claims omit, by the measurement that shows most. 0 within its slack."""
    claim_ms = candidate.median_ms
    single_ms = beyond_claim_ms(candidate, candidate.single_ms, alone.single_ms, least)
    burst_ms = beyond_claim_ms(candidate, candidate.burst_ms, alone.burst_ms, second_least, in_burst=True)
    hot_ms = beyond_claim_ms(candidate, candidate.hot_ms, alone.hot_ms, second_least, in_burst=True)
    talking_ms = _talking_ms(candidate, baseline, alone)
    measured = (
        (single_ms, single_slack_ms(claim_ms, gated=gated)),
        (burst_ms, _burst_slack_ms(claim_ms, in_a_row)),
        (hot_ms, _burst_slack_ms(claim_ms, in_a_row)),
        (talking_ms, max(limits.TALK_SLACK_MS, limits.SLACK_SHARE * claim_ms)),
    )
    return max((late_ms for late_ms, slack_ms in measured if late_ms > slack_ms), default=0.0)


def _talking_ms(candidate: TimingSide, baseline: TimingSide, alone: TimingSide) -> float:
    """How much longer a call is than its claim: by whole requests, compared with the baseline's in turns and alone, and by single calls
    until the judge has its own copy of the output."""
    beside_ms = max(_trusted_beside_ms(baseline), _trusted_beside_ms(alone))
    return max(_beside_ms(candidate) - beside_ms, beyond_claim_ms(candidate, candidate.landed_ms, alone.landed_ms, least))


def _beside_ms(side: TimingSide) -> float:
    """Time of a request beyond its worker's claim for the call: the lowest decile, since other processes may delay most requests. Not the
    minimum, since an output may sometimes be deferred."""
    return _lowest_decile(side.wall_ms) - side.claim_ms - side.head_start_ms


def _trusted_beside_ms(side: TimingSide) -> float:
    """Time beyond the baseline's claims, request by request, so the spread of its calls, which may exceed the candidate's calls, cancels.

    Not for a candidate, which could cheat with a few long claims and short requests.
    """
    count = len(side.samples_ms) // len(side.wall_ms)
    calls_ms = (statistics.mean(side.samples_ms[number * count :][:count]) for number in range(len(side.wall_ms)))
    beside_ms = [wall_ms - call_ms for wall_ms, call_ms in zip(side.wall_ms, calls_ms, strict=True)]
    return _lowest_decile(beside_ms) - side.blank_ms - side.head_start_ms


def _burst_slack_ms(claim_ms: float, in_a_row: int) -> float:
    return max(min(limits.BURST_SLACK_MS / max(in_a_row, 1), limits.BURST_SLACK_SHARE * claim_ms), limits.SLACK_SHARE * claim_ms)


def single_slack_ms(claim_ms: float, *, gated: bool) -> float:
    """Slack of this claim against the judge's clock over single calls."""
    return max(limits.SINGLE_SLACK_MS if gated else limits.UNGATED_SLACK_MS, limits.SLACK_SHARE * claim_ms)


def beyond_claim_ms(
    side: TimingSide,
    took_ms: Sequence[float],
    idle_ms: Sequence[float],
    of: Callable[[Sequence[float]], float],
    *,
    in_burst: bool = False,
) -> float:
    """How much longer a call took by the judge's clock than its worker claims, in ms; 0 if that was not measured.

    `idle_ms` are the same requests without the call. `of` chooses the time that counts. Bursts have no events.
    """
    claim_ms = side.median_ms + min(side.blank_ms, limits.LAUNCH_GAP_MS) if in_burst else side.claim_ms
    return of(took_ms) - of(idle_ms) - claim_ms if took_ms and idle_ms else 0.0


def least(times_ms: Sequence[float]) -> float:
    """The minimum, for requests whose outputs are all compared: other programs delay most requests, and speed up none."""
    return min(times_ms)


def second_least(times_ms: Sequence[float]) -> float:
    """The second smallest, for requests of which only some outputs are compared: a submission could get the minimum by luck."""
    return sorted(times_ms)[:2][-1]


def _lowest_decile(times_ms: Sequence[float]) -> float:
    return sorted(times_ms)[len(times_ms) // 10]


def _lower_quartile(times_ms: Sequence[float]) -> float:
    return sorted(times_ms)[len(times_ms) // 4]


def _upper_quartile(times_ms: Sequence[float]) -> float:
    """The upper quartile; of few times the median, since the largest of few means little."""
    return sorted(times_ms)[(len(times_ms) * 3 - 1) // 4] if len(times_ms) >= 4 else statistics.median(times_ms)
