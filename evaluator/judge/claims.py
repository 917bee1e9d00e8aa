"""What the candidate's time leaves out, by every witness, held against the baseline alone.

The baseline's worker is trusted, and asked to do everything but the calls it takes what requests take: copying inputs and answers, the
flush, the talk. It is measured after the candidate has been killed, who would gain if that looked long.
"""

import statistics
from collections.abc import Sequence

from evaluator.result import TimingEvidence, TimingSide

REVEAL_SLACK_MS = 0.2
REVEAL_SLACK_SHARE = 0.25
"""What revealing an answer may take beyond what it takes the baseline before it counts."""
PROCESSOR_SLACK_MS = 0.1
"""Processor time before a call or after an answer, beyond the baseline's, that is not told from bookkeeping."""
SINGLE_SLACK_MS = 0.025
"""How far a claim may fall short of the judge's clock over single calls before the clock's figure stands: its spread."""
BURST_SLACK_MS = 0.02
"""The same over bursts; there never by more than the claim itself."""
SLACK_SHARE = 0.05
"""The same, of the claim."""
UNGATED_SLACK_MS = 0.05
"""The same where calls were not behind the gate, and the talk is in the clock."""


def compare(
    candidate: TimingSide, baseline: TimingSide, alone: TimingSide, *, on_device: bool, unflushed: int, gated: bool = True
) -> TimingEvidence:
    """The evidence that a timing comes to. `alone` is the baseline with the candidate gone; `unflushed` counts the candidate's calls that
    no flush came before; `gated` says whether the judge's clock ran behind the gate."""
    return TimingEvidence(
        clock="cuda_event" if on_device else "judge_wall",
        calls=len(candidate.samples_ms),
        candidate=candidate,
        baseline=baseline,
        alone=alone,
        deferred_ms=deferred_ms(candidate, alone),
        ahead_ms=_processor_ms(candidate.ahead_ms, alone.ahead_ms),
        background_ms=_processor_ms(candidate.background_ms, alone.background_ms),
        unexplained_ms=beyond_claim_ms(candidate, candidate.single_ms, alone.single_ms) if on_device else None,
        unclaimed_ms=unclaimed_ms(candidate, alone, gated=gated) if on_device else 0.0,
        gated=gated and on_device,
        unflushed=unflushed,
    )


def deferred_ms(candidate: TimingSide, alone: TimingSide) -> float:
    """How much later the candidate's answers arrive than the baseline's; 0 within the slack."""
    baseline_ms = statistics.median(alone.reveal_ms)
    late_ms = statistics.median(candidate.reveal_ms) - baseline_ms
    return late_ms if late_ms > max(REVEAL_SLACK_MS, REVEAL_SLACK_SHARE * baseline_ms) else 0.0


def _processor_ms(candidate_ms: Sequence[float], baseline_ms: Sequence[float]) -> float:
    """Processor time that the candidate takes beyond the baseline, while nothing is asked of either; 0 within the slack."""
    if not candidate_ms or not baseline_ms:
        return 0.0  # on a GPU, where a worker waits awake
    more_ms = statistics.median(candidate_ms) - statistics.median(baseline_ms)
    return more_ms if more_ms > PROCESSOR_SLACK_MS else 0.0


def unclaimed_ms(candidate: TimingSide, alone: TimingSide, *, gated: bool) -> float:
    """What the claims leave out of a call, by the judge's clock over single calls or over bursts; 0 within the slack."""
    claim_ms = candidate.median_ms
    single_ms = beyond_claim_ms(candidate, candidate.single_ms, alone.single_ms)
    burst_ms = beyond_claim_ms(candidate, candidate.burst_ms, alone.burst_ms)
    late = [single_ms] if single_ms > single_slack_ms(claim_ms, gated=gated) else []
    late += [burst_ms] if burst_ms > max(min(BURST_SLACK_MS if gated else UNGATED_SLACK_MS, claim_ms), SLACK_SHARE * claim_ms) else []
    return max(late, default=0.0)


def single_slack_ms(claim_ms: float, *, gated: bool) -> float:
    """How far this claim may fall short of the judge's clock over single calls."""
    return max(SINGLE_SLACK_MS if gated else UNGATED_SLACK_MS, SLACK_SHARE * claim_ms)


def beyond_claim_ms(side: TimingSide, took_ms: Sequence[float], idle_ms: Sequence[float]) -> float:
    """How much longer a call of this side took by the judge's clock than its worker claims, in ms, given what the same takes without the
    call; 0 where that was not measured. Of both the lower quartiles: others on the machine delay a request, and hasten none."""
    if not took_ms or not idle_ms:
        return 0.0
    return lower_quartile(took_ms) - lower_quartile(idle_ms) - side.median_ms


def lower_quartile(times_ms: Sequence[float]) -> float:
    """Of at least one time."""
    return statistics.quantiles(times_ms, n=4)[0] if len(times_ms) > 1 else times_ms[0]
