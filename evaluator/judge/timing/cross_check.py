"""What the candidate's time leaves out, by every witness, held against the baseline alone.

The baseline's worker is trusted, and asked to do everything but the calls it takes what requests take: copying inputs and answers, the
flush, the talk. It is measured after the candidate has been killed, who would gain if that looked long.
"""

import statistics
from collections.abc import Callable, Sequence

from evaluator.results.evidence import TimingEvidence, TimingSide

REVEAL_SLACK_MS = 0.1
REVEAL_SLACK_SHARE = 0.25
"""What revealing an answer may take beyond what it takes the baseline before it counts; on a GPU at least TALK_SLACK_MS."""
PROCESSOR_SLACK_MS = 0.1
"""Processor time before a call or after an answer, beyond the baseline's, that is not told from bookkeeping."""
SINGLE_SLACK_MS = 0.15
"""How far a claim may fall short of the judge's clock over single requests before the clock's figure stands: how far the overhead of a
request differs between two workers on a busy machine, which is more than its spread in either."""
BURST_SLACK_MS = 0.1
BURST_SLACK_SHARE = 0.5
"""The same over a burst, whose calls share it, as the second least of many bursts differs between two workers; and no more than this
share of the claim, for nobody gets a short call for half of what it takes."""
LAUNCH_GAP_MS = 0.002
"""What a kernel takes in a burst beside its own time, at the most, of what is taken off claims for their events."""
SLACK_SHARE = 0.05
"""The same of any witness, as a share of the claim."""
TALK_SLACK_MS = 0.3
"""The same over whole requests, with the talk in the clock, and where the clock runs until the answer is in the judge's own memory."""
UNGATED_SLACK_MS = 0.25
"""The same over single requests where calls were not behind the gate, and the host's time is in the clock."""


def compare(
    candidate: TimingSide, baseline: TimingSide, alone: TimingSide, *, on_device: bool, gated: bool = True, in_a_row: int = 0
) -> TimingEvidence:
    """The evidence that a timing comes to. `alone` is the baseline with the candidate gone; `gated` says whether the judge's clock ran
    behind the gate, and a burst was of `in_a_row` calls."""
    return TimingEvidence(
        clock="cuda_event" if on_device else "judge_wall",
        calls=len(candidate.samples_ms),
        candidate=candidate,
        baseline=baseline,
        alone=alone,
        deferred_ms=deferred_ms(candidate, alone, on_device=on_device),
        ahead_ms=_processor_ms(candidate.ahead_ms, alone.ahead_ms),
        background_ms=_processor_ms(candidate.background_ms, alone.background_ms),
        arrives_late_ms=0.0 if on_device else _arrives_late_ms(candidate, alone),
        unexplained_ms=unexplained_ms(candidate, baseline, alone) if on_device else None,
        unclaimed_ms=unclaimed_ms(candidate, baseline, alone, gated=gated, in_a_row=in_a_row) if on_device else 0.0,
        gated=gated and on_device,
        in_a_row=in_a_row,
    )


def deferred_ms(candidate: TimingSide, alone: TimingSide, *, on_device: bool) -> float:
    """How much later the candidate's answers arrive than the baseline's; 0 within the slack. On the CPU by processor time."""
    if on_device:
        return _late_ms(candidate.reveal_ms, alone.reveal_ms, max(TALK_SLACK_MS, SLACK_SHARE * candidate.median_ms))
    baseline_ms = statistics.median(alone.reveal_ms)
    late_ms = statistics.median(candidate.reveal_ms) - baseline_ms
    return late_ms if late_ms > max(REVEAL_SLACK_MS, REVEAL_SLACK_SHARE * baseline_ms) else 0.0


def _late_ms(arrivals_ms: Sequence[float], usual_ms: Sequence[float], slack_ms: float) -> float:
    """How much later answers arrive than usual by the clock, which others on the machine delay and never hasten: the lower quartile beyond
    the usual upper one. 0 within the slack."""
    if not arrivals_ms or not usual_ms:
        return 0.0
    baseline_ms = _upper_quartile(usual_ms)
    late_ms = _lower_quartile(arrivals_ms) - baseline_ms
    return late_ms if late_ms > max(slack_ms, REVEAL_SLACK_SHARE * baseline_ms) else 0.0


def _arrives_late_ms(candidate: TimingSide, alone: TimingSide) -> float:
    """What is added on the CPU for answers that are late by the clock, or for what comes after the calls that were looked at."""
    return max(
        _late_ms(candidate.arrival_ms, alone.arrival_ms, TALK_SLACK_MS),
        _beside_calls_ms(candidate, candidate.reveal_busy_ms, candidate.reveal_ms, alone.reveal_ms),
        _beside_calls_ms(candidate, candidate.background_busy_ms, candidate.background_ms, alone.background_ms),
    )


def _beside_calls_ms(candidate: TimingSide, busy_ms: Sequence[float], extra_ms: Sequence[float], usual_ms: Sequence[float]) -> float:
    """How much more processor time calls take at the median, with what came after each of them, than calls do; 0 within the slack.

    Which calls are looked at is drawn when they are over: who puts off the work of some, and does that of others in time, according to
    which of them have been looked at so far, can bring down the median of the calls and that of what comes after them, but not this one.
    """
    if not busy_ms or not usual_ms or not candidate.busy_ms:
        return 0.0
    baseline_ms = statistics.median(usual_ms)
    whole_ms = [call_ms + max(more_ms - baseline_ms, 0.0) for call_ms, more_ms in zip(busy_ms, extra_ms, strict=True)]
    late_ms = statistics.median(whole_ms) - statistics.median(candidate.busy_ms)
    return late_ms if late_ms > max(REVEAL_SLACK_MS, REVEAL_SLACK_SHARE * candidate.work_ms) else 0.0


def _processor_ms(candidate_ms: Sequence[float], baseline_ms: Sequence[float]) -> float:
    """Processor time that the candidate takes beyond the baseline, while nothing is asked of either; 0 within the slack."""
    if not candidate_ms or not baseline_ms:
        return 0.0  # on a GPU, where a worker waits awake
    more_ms = statistics.median(candidate_ms) - statistics.median(baseline_ms)
    return more_ms if more_ms > PROCESSOR_SLACK_MS else 0.0


def unexplained_ms(candidate: TimingSide, baseline: TimingSide, alone: TimingSide) -> float:
    """By how much a call is longer than its claim, by the clock over single calls, and by the others less what the talk's spread may be."""
    single_ms = beyond_claim_ms(candidate, candidate.single_ms, alone.single_ms, least)
    return max(single_ms, _talking_ms(candidate, baseline, alone) - TALK_SLACK_MS)


def unclaimed_ms(candidate: TimingSide, baseline: TimingSide, alone: TimingSide, *, gated: bool, in_a_row: int) -> float:
    """What the claims leave out of a call, by any of the judge's clocks; 0 within their slack."""
    claim_ms = candidate.median_ms
    single_ms = beyond_claim_ms(candidate, candidate.single_ms, alone.single_ms, least)
    burst_ms = beyond_claim_ms(candidate, candidate.burst_ms, alone.burst_ms, second_least, in_burst=True)
    hot_ms = beyond_claim_ms(candidate, candidate.hot_ms, alone.hot_ms, second_least, in_burst=True)
    talking_ms = _talking_ms(candidate, baseline, alone)
    witnesses = (
        (single_ms, single_slack_ms(claim_ms, gated=gated)),
        (burst_ms, _burst_slack_ms(claim_ms, in_a_row)),
        (hot_ms, _burst_slack_ms(claim_ms, in_a_row)),
        (talking_ms, max(TALK_SLACK_MS, SLACK_SHARE * claim_ms)),
    )
    return max((late_ms for late_ms, slack_ms in witnesses if late_ms > slack_ms), default=0.0)


def _talking_ms(candidate: TimingSide, baseline: TimingSide, alone: TimingSide) -> float:
    """The same over whole requests, beyond what is beside the call in the baseline's, with the candidate and without it; and over single
    calls until the answer is the judge's own."""
    beside_ms = max(_trusted_beside_ms(baseline), _trusted_beside_ms(alone))
    return max(_beside_ms(candidate) - beside_ms, beyond_claim_ms(candidate, candidate.landed_ms, alone.landed_ms, least))


def _beside_ms(side: TimingSide) -> float:
    """What a request of this side takes beyond the time that its worker claims for a call: at the lowest decile, since others on the
    machine may delay most of them, and not the least, since an answer here and there may be put off."""
    return _lowest_decile(side.wall_ms) - side.claim_ms - side.head_start_ms


def _trusted_beside_ms(side: TimingSide) -> float:
    """The same of the baseline, request by request, by what it claims for the calls of each: its spread, which may be more than a
    candidate's calls take, is in none of that. Of a candidate, a few long claims and short requests would do."""
    count = len(side.samples_ms) // len(side.wall_ms)
    calls_ms = (statistics.mean(side.samples_ms[number * count :][:count]) for number in range(len(side.wall_ms)))
    beside_ms = [wall_ms - call_ms for wall_ms, call_ms in zip(side.wall_ms, calls_ms, strict=True)]
    return _lowest_decile(beside_ms) - side.blank_ms - side.head_start_ms


def _burst_slack_ms(claim_ms: float, in_a_row: int) -> float:
    return max(min(BURST_SLACK_MS / max(in_a_row, 1), BURST_SLACK_SHARE * claim_ms), SLACK_SHARE * claim_ms)


def single_slack_ms(claim_ms: float, *, gated: bool) -> float:
    """How far this claim may fall short of the judge's clock over single calls."""
    return max(SINGLE_SLACK_MS if gated else UNGATED_SLACK_MS, SLACK_SHARE * claim_ms)


def beyond_claim_ms(
    side: TimingSide,
    took_ms: Sequence[float],
    idle_ms: Sequence[float],
    of: Callable[[Sequence[float]], float],
    *,
    in_burst: bool = False,
) -> float:
    """How much longer a call of this side took by the judge's clock than its worker claims, in ms, given what the same takes without the
    call; 0 where that was not measured. `of` says which of several times counts. In a burst there are no events."""
    claim_ms = side.median_ms + min(side.blank_ms, LAUNCH_GAP_MS) if in_burst else side.claim_ms
    return of(took_ms) - of(idle_ms) - claim_ms if took_ms and idle_ms else 0.0


def least(times_ms: Sequence[float]) -> float:
    """The least of requests whose answers are all compared: others on the machine delay most of them, and hasten none."""
    return min(times_ms)


def second_least(times_ms: Sequence[float]) -> float:
    """The same where some of several answers are compared, and the least could be had by luck."""
    return sorted(times_ms)[:2][-1]


def _lowest_decile(times_ms: Sequence[float]) -> float:
    return sorted(times_ms)[len(times_ms) // 10]


def _lower_quartile(times_ms: Sequence[float]) -> float:
    return sorted(times_ms)[len(times_ms) // 4]


def _upper_quartile(times_ms: Sequence[float]) -> float:
    """Of few, the median: the most of them is anything."""
    return sorted(times_ms)[(len(times_ms) * 3 - 1) // 4] if len(times_ms) >= 4 else statistics.median(times_ms)
