"""The baselines once the candidate is gone: what everything costs when no submission can make it look long or short."""

import secrets
import statistics
import time
from collections.abc import Callable, Iterator

from evaluator.judge.timing.gated_calls import GatedCalls
from evaluator.judge.timing.interleave import Answer, Interleaver
from evaluator.judge.timing.spot_check import SpotCheck
from evaluator.judge.timing.stopping import LEAST_CALLS, MIN_CALLS
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.results.evidence import TimingSide
from evaluator.results.evidence.timing import is_slower

BLOCKS = 16
LEAST_BLOCKS = 2
BLOCKS_S = 0.2
"""With LEAST_BLOCKS and LEAST_CALLS done, the baseline alone is called no longer than this."""
BLANKS = 32
"""Least number of empty kernels that are timed."""
EMPTY_KERNEL_MS = 0.00065
"""What one takes by CUPTI, on an H200."""

_random = secrets.SystemRandom()


class BaselineAlone:
    """Times baselines without the candidate, whose worker has ended."""

    def __init__(self, interleaver: Interleaver, spot_check: SpotCheck, deadline_s: float, look: Callable[[], object]) -> None:
        self._interleaver, self._spot_check, self._deadline_s, self._look = interleaver, spot_check, deadline_s, look

    def run(self, gated_calls: GatedCalls | None) -> TimedWorker:
        """The baseline, timed as the candidate was: blocks, reveals, watching, and the talk behind the gate without its calls.

        It copies its answers where the candidate had to: between calls, but in the requests' time.
        """
        interleaver, alone = self._interleaver, self._interleaver.anew(self._interleaver.baseline)
        alone.copies = interleaver.candidate.copies and interleaver.length > 1
        alone.worker.hand_over(gated_calls.allocations if gated_calls else self._spot_check.outputs, self._deadline_s)
        self._spot_check.warm_reveal(alone)
        for number, answers in enumerate(self._blocks(alone)):
            if number % 2:
                self._spot_check.reveal(alone, _random.choice(answers))
            else:
                self._spot_check.watch(alone)
            del answers
        if gated_calls:
            interleaver.call(alone)
            interleaver.forget_arguments()
            gated_calls.run_idle(alone, interleaver.candidate)
        return alone

    def blank_ms(self, alone: TimedWorker) -> float:
        """What the time of a call holds that does nothing, by a worker that is trusted and undisturbed.

        On the CPU this is a call's share of the fastest request for a block without calls: on a busy machine the rest may or may not be in
        a call's time, and taking it off would leave nothing of short calls. On a GPU it is the median of two events around an empty kernel,
        less that kernel; 0 where the host's time counts.
        """
        if not self._interleaver.on_device:
            return min(self._host_blanks(alone)) / self._interleaver.length
        if not alone.launch_lead.cycles:
            return 0.0
        length = self._interleaver.most_in_block
        alone.blank(length)
        blanks_ms = [took_ms for _ in range(-(-BLANKS // length)) for took_ms in alone.blank(length)]
        return max(statistics.median(blanks_ms) - EMPTY_KERNEL_MS, 0.0)

    def _host_blanks(self, alone: TimedWorker) -> Iterator[float]:
        start = time.monotonic()
        for number, took_ms in enumerate(self._interleaver.host_blanks(alone)):
            yield took_ms
            if number + 1 >= (MIN_CALLS if time.monotonic() - start < BLOCKS_S else LEAST_CALLS):
                return

    def others(self, blank_ms: float) -> dict[str, TimingSide]:
        """The extra baselines: each counts as it is without the candidate where it is clearly faster then."""
        found: dict[str, TimingSide] = {}
        for kind, timed in tuple(self._interleaver.others.items()):
            with self._interleaver.sparing(timed):
                alone = self._interleaver.anew(timed)
                for _ in self._blocks(alone):
                    pass
                beside, without = timed.summary(blank_ms), alone.summary(blank_ms)
                found[kind] = without if is_slower(beside, without) else beside
        return found

    def _blocks(self, alone: TimedWorker) -> Iterator[list[Answer]]:
        """A few blocks."""
        start = time.monotonic()
        for number in range(BLOCKS):
            is_enough = number >= LEAST_BLOCKS and number * self._interleaver.length >= LEAST_CALLS
            if is_enough and time.monotonic() - start > BLOCKS_S:
                return
            yield self._interleaver.block(alone)
            self._look()
