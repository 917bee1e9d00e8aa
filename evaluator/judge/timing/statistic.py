"""Which of its samples is a side's time: on one core the lower quartile, where no work can be missing from it; otherwise the median.

Other programs lengthen samples on a CPU, and shorten none. So the lower quartile differs less from one evaluation to the next than the
median. But a submission that puts off the work of every third call would have a low quartile and an honest median. On one core the kernel's
count of processor time tells of that: a call takes no less time than its process computes.
"""

from collections.abc import Collection

from evaluator.judge.timing.samples import quartiles
from evaluator.results.evidence import TimingSide
from evaluator.results.evidence.timing import Statistic

ALIKE_SHARE = 0.25
"""How much less processor time than a median call those of the lower quartile may take."""
ELSEWHERE_SHARE = 0.05
"""How much of the processor time other processes of the submission's may use, and not the one that is called."""


def usual_statistic(cores: Collection[int]) -> Statistic:
    """The statistic of an honest candidate whose workers are kept to these cores."""
    return "lower_quartile" if len(cores) == 1 else "median"


def statistic_of(candidate: TimingSide, cores: Collection[int], elsewhere_ms: float, in_block: int) -> Statistic:
    """The statistic of both sides. `elsewhere_ms` is the processor time of the candidate's other processes during its blocks, and
    `in_block` how many calls a block had."""
    if not candidate.busy_ms or elsewhere_ms > ELSEWHERE_SHARE * in_block * sum(candidate.busy_ms):
        return "median"
    lower_ms, median_ms, _ = quartiles(candidate.busy_ms)
    return usual_statistic(cores) if lower_ms >= (1 - ALIKE_SHARE) * median_ms else "median"
