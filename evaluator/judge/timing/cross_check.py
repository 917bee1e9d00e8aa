"""What the candidate's claims leave out, by each of the judge's measurements, compared with the baseline alone.

The baseline's worker is trusted. Asked to do everything but the calls, it shows what a request costs: copying inputs and answers, the
flush, the talk. It is measured after the candidate has been killed, which would gain if those costs looked high.
"""

import statistics
from collections.abc import Callable, Sequence

from evaluator.results.evidence import TimingEvidence, TimingSide

REVEAL_SLACK_MS = 0.1
REVEAL_SLACK_SHARE = 0.25
"""How much longer than the baseline's the reveal of an answer may take before it counts; on a GPU at least TALK_SLACK_MS."""
PROCESSOR_SLACK_MS = 0.1
"""Processor time before a block or after it, beyond the baseline's, that may be bookkeeping; its calls share it."""
SINGLE_SLACK_MS = 0.15
"""How far a claim may fall short of the judge's clock over single calls before the clock's figure counts. On a busy machine the overhead
of a request differs so much between two workers, which is more than its spread in either."""
BURST_SLACK_MS = 0.1
BURST_SLACK_SHARE = 0.5
"""The same over a burst, whose calls share it: the second least of many bursts differs so much between two workers. No more than this
share of the claim, so that no short call counts for half of its time."""
LAUNCH_GAP_MS = 0.002
"""The gap between kernels in a burst, at the most; it replaces what is taken off claims for their events."""
SLACK_SHARE = 0.05
"""The same for any measurement, as a share of the claim."""
TALK_SLACK_MS = 0.3
"""The same over whole requests, whose time includes the talk, and where the clock runs until the judge has its own copy of the answer."""
UNGATED_SLACK_MS = 0.25
"""The same over single calls without the gate, whose time includes the host's."""


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
    """The evidence of a timing. `alone` is the baseline with the candidate gone; `gated` says whether the judge's clock ran behind the
    gate, `in_a_row` how many calls a burst had, and `in_block` how many a block."""
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
    """How much later than usual answers arrive by the clock: their lower quartile beyond the usual upper quartile. 0 within the slack.

    Other processes delay arrivals and never hasten them.
    """
    if not arrivals_ms or not usual_ms:
        return 0.0
    baseline_ms = _upper_quartile(usual_ms)
    late_ms = _lower_quartile(arrivals_ms) - baseline_ms
    return late_ms if late_ms > max(slack_ms, REVEAL_SLACK_SHARE * baseline_ms) else 0.0


def _arrives_late_ms(candidate: TimingSide, alone: TimingSide) -> float:
    """What is added on the CPU for answers that are late by the clock, or for work after the calls that were looked at."""
    return max(
        _late_ms(candidate.arrival_ms, alone.arrival_ms, TALK_SLACK_MS),
        _beside_calls_ms(candidate, candidate.reveal_busy_ms, candidate.reveal_ms, alone.reveal_ms),
        _beside_calls_ms(candidate, candidate.background_busy_ms, candidate.background_ms, alone.background_ms),
    )


def _beside_calls_ms(candidate: TimingSide, busy_ms: Sequence[float], extra_ms: Sequence[float], usual_ms: Sequence[float]) -> float:
    """How much more processor time the calls that were looked at take, each with what came after it, than all calls: at the median, and 0
    within the slack.

    Which calls are looked at is drawn when they are over. A submission that puts off the work of some calls, depending on which were
    looked at before, can lower the median of the calls and that of the work after them, but not this one.
    """
    if not busy_ms or not usual_ms or not candidate.busy_ms:
        return 0.0
    baseline_ms = statistics.median(usual_ms)
    whole_ms = [call_ms + max(more_ms - baseline_ms, 0.0) for call_ms, more_ms in zip(busy_ms, extra_ms, strict=True)]
    late_ms = statistics.median(whole_ms) - statistics.median(candidate.busy_ms)
    return late_ms if late_ms > max(REVEAL_SLACK_MS, REVEAL_SLACK_SHARE * candidate.work_ms) else 0.0


def _processor_ms(candidate_ms: Sequence[float], baseline_ms: Sequence[float], in_block: int) -> float:
    """Processor time that the candidate takes beyond the baseline while neither has a request, for each call; 0 within the slack."""
    if not candidate_ms or not baseline_ms:
        return 0.0  # on a GPU, where a worker waits awake
    more_ms = statistics.median(candidate_ms) - statistics.median(baseline_ms)
    return more_ms if more_ms > PROCESSOR_SLACK_MS / in_block else 0.0


def unexplained_ms(candidate: TimingSide, baseline: TimingSide, alone: TimingSide) -> float:
    """How much longer a call is than its claim, by single calls, or by whole requests less the slack of the talk."""
    single_ms = beyond_claim_ms(candidate, candidate.single_ms, alone.single_ms, least)
    return max(single_ms, _talking_ms(candidate, baseline, alone) - TALK_SLACK_MS)


def unclaimed_ms(candidate: TimingSide, baseline: TimingSide, alone: TimingSide, *, gated: bool, in_a_row: int) -> float:
    """What the claims leave out of a call, by the judge's measurement that shows most; 0 within its slack."""
    claim_ms = candidate.median_ms
    single_ms = beyond_claim_ms(candidate, candidate.single_ms, alone.single_ms, least)
    burst_ms = beyond_claim_ms(candidate, candidate.burst_ms, alone.burst_ms, second_least, in_burst=True)
    hot_ms = beyond_claim_ms(candidate, candidate.hot_ms, alone.hot_ms, second_least, in_burst=True)
    talking_ms = _talking_ms(candidate, baseline, alone)
    measured = (
        (single_ms, single_slack_ms(claim_ms, gated=gated)),
        (burst_ms, _burst_slack_ms(claim_ms, in_a_row)),
        (hot_ms, _burst_slack_ms(claim_ms, in_a_row)),
        (talking_ms, max(TALK_SLACK_MS, SLACK_SHARE * claim_ms)),
    )
    return max((late_ms for late_ms, slack_ms in measured if late_ms > slack_ms), default=0.0)


def _talking_ms(candidate: TimingSide, baseline: TimingSide, alone: TimingSide) -> float:
    """How much longer a call is than its claim: by whole requests, compared with the baseline's beside the candidate and alone, and by
    single calls until the judge has its own copy of the answer."""
    beside_ms = max(_trusted_beside_ms(baseline), _trusted_beside_ms(alone))
    return max(_beside_ms(candidate) - beside_ms, beyond_claim_ms(candidate, candidate.landed_ms, alone.landed_ms, least))


def _beside_ms(side: TimingSide) -> float:
    """What a request takes beyond the time that its worker claims for a call: the lowest decile, since other processes may delay most
    requests. Not the least, since now and then an answer may be put off."""
    return _lowest_decile(side.wall_ms) - side.claim_ms - side.head_start_ms


def _trusted_beside_ms(side: TimingSide) -> float:
    """The same for the baseline, request by request, so that the spread of its calls, which may exceed the candidate's calls, drops out.

    A candidate could deceive this with a few long claims and short requests.
    """
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
    """How much longer a call took by the judge's clock than its worker claims, in ms; 0 where that was not measured.

    `idle_ms` are the same requests without the call; `of` chooses the one of several times that counts. In a burst there are no events.
    """
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
