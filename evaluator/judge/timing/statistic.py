"""Which of its samples is a side's time: on one core the lower quartile, where no work can be missing from it; otherwise the median.

Other programs lengthen samples on a CPU, and shorten none. So the lower quartile differs less from one evaluation to the next than the
median. But a submission that puts off the work of every third call would have a low quartile and an honest median. On one core the kernel's
count of processor time tells of that: a call takes no less time than its process computes. A call that waits for much longer than the
baseline's may wait for a process that is in no count: the kernel forgets a child that nobody waits for when it ends.
"""

import statistics
from collections.abc import Collection

from evaluator.judge.timing.samples import quartiles
from evaluator.results.evidence import TimingEvidence, TimingSide
from evaluator.results.evidence.timing import Statistic

ALIKE_SHARE = 0.25
"""How much less processor time than a median call those of the lower quartile may take."""
ELSEWHERE_SHARE = 0.05
"""How much of the processor time other processes of the submission's may use, and not the one that is called."""


WAITING_SHARE, WAITING_MS = 0.1, 0.1
"""How much longer than the baseline's, as a share of itself, a call may wait, or else a block of calls."""


def usual_statistic(cores: Collection[int]) -> Statistic:
    """The statistic of an honest candidate whose workers are kept to these cores."""
    return "lower_quartile" if len(cores) == 1 else "median"


def statistic_of(timing: TimingEvidence, cores: Collection[int], elsewhere_ms: float, in_block: int) -> Statistic:
    """The statistic of both sides. `elsewhere_ms` is the processor time of the candidate's other processes during its blocks, and
    `in_block` how many calls a block had."""
    candidate = timing.candidate
    if not candidate.busy_ms or elsewhere_ms > ELSEWHERE_SHARE * in_block * sum(candidate.busy_ms):
        return "median"
    if _waits_ms(candidate) > _usual_wait_ms(timing) + max(WAITING_SHARE * candidate.median_ms, WAITING_MS / in_block):
        return "median"
    lower_ms, median_ms, _ = quartiles(candidate.busy_ms)
    return usual_statistic(cores) if lower_ms >= (1 - ALIKE_SHARE) * median_ms else "median"


def _waits_ms(side: TimingSide) -> float:
    """How much of a call its process does not compute: for want of the core, or because it waits for something."""
    return statistics.median(took_ms - busy_ms for took_ms, busy_ms in zip(side.samples_ms, side.busy_ms, strict=True))


def _usual_wait_ms(timing: TimingEvidence) -> float:
    """The same of a call as long as the candidate's that waits for the same share of its time as the baseline's."""
    side = timing.counted_baseline
    return max(_waits_ms(side), 0.0) / side.median_ms * timing.candidate.median_ms if side.busy_ms else 0.0
