"""The stopping criterion: when a timing has enough blocks."""

from evaluator.judge import limits
from evaluator.judge.timing.effort import Effort
from evaluator.judge.timing.interleave import Interleaver
from evaluator.judge.timing.statistics.speedup import interval, is_narrow
from evaluator.results.evidence.timing import Statistic

NARROW, BUDGET = "precise", "budget"
"""Stored reasons to stop: the speedup's confidence interval is narrow enough, or the time limit is reached."""
ASK_AGAIN = 1.2
"""Growth of the number of blocks before the interval is computed again, which takes some milliseconds."""
EVENTS_MS = 0.003
"""Approximate time of two events on an H200. The time subtracted from samples is measured each time, but only after the calls."""


class StoppingCriterion:
    """Decides after each block whether there are enough of them."""

    def __init__(self, interleaver: Interleaver, statistic: Statistic, effort: Effort, *, is_slow: bool = False) -> None:
        self._interleaver, self._statistic, self._effort, self._is_slow = interleaver, statistic, effort, is_slow
        self._asked_at = 0
        """Number of blocks when the interval was last computed."""

    def reason(self, elapsed_s: float) -> str:
        """The reason to stop, `elapsed_s` after the first block began; empty to go on."""
        now = self._interleaver
        if self._is_slow:
            return BUDGET if now.calls >= limits.SLOW_CALLS else ""
        if now.calls < limits.LEAST_CALLS or now.blocks < 1:
            return ""
        if now.calls >= limits.MIN_CALLS and now.blocks >= self._effort.least_blocks:
            if now.blocks >= ASK_AGAIN * self._asked_at and self._is_narrow():
                return NARROW
            if elapsed_s >= self._effort.enough_s:
                return BUDGET
        spent_s = now.length * sum(wall_ms - timed.launch_lead.ms for timed in now.timed_workers for wall_ms in timed.samples.wall_ms) / 1e3
        if elapsed_s >= limits.LONG_S and now.blocks >= max(limits.LONG_BLOCKS, ASK_AGAIN * self._asked_at) and self._is_narrow():
            return NARROW
        return BUDGET if spent_s >= limits.BUDGET_S else ""

    def _is_narrow(self) -> bool:
        self._asked_at = self._interleaver.blocks
        blank_ms = EVENTS_MS if self._interleaver.on_device else 0.0
        candidate_ms, baseline_ms = (timed.samples_ms(blank_ms) for timed in (self._interleaver.candidate, self._interleaver.baseline))
        return is_narrow(interval(candidate_ms, baseline_ms, self._interleaver.blocks, statistic=self._statistic))
