"""The stopping criterion: when a timing has blocks enough."""

from evaluator.judge.timing.interleave import Interleaver
from evaluator.judge.timing.speedup import interval, is_narrow
from evaluator.results.evidence.timing import Statistic

NARROW, BUDGET = "precise", "budget"
"""Reasons to stop, as they are stored: the speedup's confidence interval is narrow enough, or the time is spent."""
MIN_CALLS = 30
MIN_BLOCKS = 15
"""Fewer calls, or fewer blocks of several calls, are never enough for a confidence interval."""
ENOUGH_S = 1.0
"""With these done, stop after this much time, however wide the interval is."""
BUDGET_S = 1.2
"""Stop even before when calls alone have taken so long: slow kernels need fewer."""
LEAST_CALLS = 5
SLOW_CALLS = 3
"""The same of a candidate that is slow by far."""
LONG_S = 0.5
LONG_BLOCKS = 10
"""With so many blocks done in so much time, an interval that is narrow is enough: calls are slow, or their inputs are large."""
ASK_AGAIN = 1.2
"""Factor by which blocks grow before the interval is computed again, which takes some milliseconds."""
EVENTS_MS = 0.003
"""About what two events take on an H200. What is taken off samples is measured each time, but not before the calls are done."""


class StoppingCriterion:
    """Decides after each block whether there are enough of them."""

    def __init__(self, interleaver: Interleaver, statistic: Statistic, *, is_slow: bool = False) -> None:
        self._interleaver, self._statistic, self._is_slow = interleaver, statistic, is_slow
        self._asked_at = 0
        """The number of blocks when the interval was computed last."""

    def reason(self, elapsed_s: float) -> str:
        """Why the timing may stop now, `elapsed_s` after its first block began; empty where it may not."""
        now = self._interleaver
        if self._is_slow:
            return BUDGET if now.calls >= SLOW_CALLS else ""
        if now.calls < LEAST_CALLS or now.blocks < 1:
            return ""
        if now.calls >= MIN_CALLS and now.blocks >= MIN_BLOCKS:
            if now.blocks >= ASK_AGAIN * self._asked_at and self._is_narrow():
                return NARROW
            if elapsed_s >= ENOUGH_S:
                return BUDGET
        spent_s = now.length * sum(wall_ms - timed.launch_lead.ms for timed in now.timed_workers for wall_ms in timed.samples.wall_ms) / 1e3
        if elapsed_s >= LONG_S and now.blocks >= max(LONG_BLOCKS, ASK_AGAIN * self._asked_at) and self._is_narrow():
            return NARROW
        return BUDGET if spent_s >= BUDGET_S else ""

    def _is_narrow(self) -> bool:
        self._asked_at = self._interleaver.blocks
        blank_ms = EVENTS_MS if self._interleaver.on_device else 0.0
        candidate_ms, baseline_ms = (timed.samples_ms(blank_ms) for timed in (self._interleaver.candidate, self._interleaver.baseline))
        return is_narrow(interval(candidate_ms, baseline_ms, self._interleaver.blocks, statistic=self._statistic))
