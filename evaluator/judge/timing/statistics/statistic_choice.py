"""Chooses the statistic of a side's samples: on one core the lower quartile, if no work can be missing from it; else the median.

Other programs lengthen samples on a CPU, and never shorten them. So the lower quartile differs less between evaluations than the median.
But a submission that defers the work of every third call would have a low quartile and an honest median. On one core, the operating
system's CPU time shows this: a call takes at least as long as its process computes. A call that waits much longer than the baseline's may
wait for an uncounted process: the operating system forgets the CPU time of a child that no process waits for.

Other processes of a submission may also lengthen the baseline's samples, but not shorten them. If they compute, the baseline's time is its
lower quartile.
"""

import statistics
from collections.abc import Collection

from evaluator.judge import limits
from evaluator.judge.timing.statistics.samples import quartiles
from evaluator.results.evidence import TimingEvidence, TimingSide
from evaluator.results.evidence.timing import Statistic


def usual_statistic(cores: Collection[int]) -> Statistic:
    """The statistic of an honest candidate with its workers pinned to these cores."""
    return "lower_quartile" if len(cores) == 1 else "median"


def statistics_of(timing: TimingEvidence, cores: Collection[int], elsewhere_ms: float, in_block: int) -> tuple[Statistic, Statistic | None]:
    """The candidate's statistic, and the baseline's if it is another. elsewhere_ms: CPU time of the candidate's other processes during the
    timing blocks. in_block: calls per timing block."""
    candidate = timing.candidate
    if candidate.busy_ms and elsewhere_ms > limits.ELSEWHERE_SHARE * in_block * sum(candidate.busy_ms):
        return "median", "lower_quartile"
    return _statistic_of(timing, cores, in_block), None


def _statistic_of(timing: TimingEvidence, cores: Collection[int], in_block: int) -> Statistic:
    candidate = timing.candidate
    if not candidate.busy_ms:
        return "median"
    if _waits_ms(candidate) > _usual_wait_ms(timing) + max(limits.WAITING_SHARE * candidate.median_ms, limits.WAITING_MS / in_block):
        return "median"
    lower_ms, median_ms, _ = quartiles(candidate.busy_ms)
    return usual_statistic(cores) if lower_ms >= (1 - limits.ALIKE_SHARE) * median_ms else "median"


def _waits_ms(side: TimingSide) -> float:
    """Time of a call in which its process does not compute: it waits for the core or for something else."""
    return statistics.median(took_ms - busy_ms for took_ms, busy_ms in zip(side.samples_ms, side.busy_ms, strict=True))


def _usual_wait_ms(timing: TimingEvidence) -> float:
    """The wait of a call as long as the candidate's, if it waits for the same share of its time as the baseline's."""
    side = timing.counted_baseline
    return max(_waits_ms(side), 0.0) / side.median_ms * timing.candidate.median_ms if side.busy_ms else 0.0
