"""Times the baselines after the candidate has ended, when no submission can influence the figures.

On the CPU the judge subtracts the time of an empty request from each timing block: its calls take only the rest. Other load lengthens
empty requests, sometimes all of them, but never what they really cost. So the judge believes the smallest of:

- the fastest empty request;
- on one core, the least wait of the baseline's requests, empty or not, plus the CPU time of an empty one. A request's wait is its wall time
  minus its CPU time, so each of the baseline's blocks shows it;
- a limit, which keeps a part of a short block for its calls.

All empty requests go to the baseline's worker after the candidate has ended. So a submission can't slow them.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evaluator.chance import chance
from evaluator.judge import limits
from evaluator.judge.timing.checks.gated_calls import GatedCalls
from evaluator.judge.timing.checks.spot_check import SpotCheck
from evaluator.judge.timing.effort import FULL, Effort
from evaluator.judge.timing.interleave import Answer, Interleaver
from evaluator.judge.timing.statistics.samples import quartiles
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.results.evidence import TimingSide
from evaluator.results.evidence.timing import Statistic, is_slower

BLANKS = 32
"""Minimum number of empty kernels that are timed."""
IN_A_ROW, PAUSE_S = 6, 0.01
"""After IN_A_ROW empty requests, the judge pauses: one burst of other load can't lengthen all."""


@dataclass(frozen=True)
class Blank:
    """The time of an empty request, or of a call's share of it."""

    ms: float
    is_slow: bool = False
    """On the CPU, whether even the fastest empty request took longer than the limit: then other load lengthens all times."""


class BaselineAlone:
    """Times baselines after the candidate's worker has ended."""

    def __init__(self, interleaver: Interleaver, spot_check: SpotCheck, deadline_s: float, look: Callable[[], object]) -> None:
        self._interleaver, self._spot_check, self._deadline_s, self._look = interleaver, spot_check, deadline_s, look

    def run(self, gated_calls: GatedCalls | None, effort: Effort) -> TimedWorker:
        """Time the baseline as the candidate was timed: blocks, on a CPU reveals and watching, and on a GPU rows without their calls.

        It copies its outputs if the candidate had to: between calls, but within the requests' time.
        """
        interleaver, alone = self._interleaver, self._interleaver.anew(self._interleaver.baseline)
        alone.copies = interleaver.candidate.copies and interleaver.length > 1
        alone.worker.hand_over(gated_calls.allocations if gated_calls else self._spot_check.outputs, self._deadline_s)
        self._spot_check.warm_reveal(alone)
        for number, answers in enumerate(self._blocks(alone, effort)):
            if number % 2 and not interleaver.on_device:
                self._spot_check.reveal(alone, chance.choice(answers))
            else:
                self._spot_check.watch(alone)
            del answers
        if gated_calls:
            interleaver.call(alone)
            interleaver.inputs.forget()
            gated_calls.run_idle(alone, interleaver.candidate)
        return alone

    def blank(self, alone: TimedWorker, *, one_core: bool) -> Blank:
        """The time of an empty call, by a trusted and undisturbed worker.

        On the CPU this is a call's share of an empty request. On a GPU it is the median of two events around an empty kernel,
        minus that kernel; 0 if the host's time counts.
        """
        if not self._interleaver.on_device:
            return self._host_blank(alone, one_core=one_core)
        if not alone.launch_lead.cycles:
            return Blank(0.0)
        length = self._interleaver.most_in_block
        alone.blank(length)
        blanks_ms = [took_ms for _ in range(-(-BLANKS // length)) for took_ms in alone.blank(length)]
        return Blank(max(statistics.median(blanks_ms) - limits.EMPTY_KERNEL_MS, 0.0))

    def _host_blank(self, alone: TimedWorker, *, one_core: bool) -> Blank:
        """Make empty requests until there are enough. The lower quartile of the fastest side's blocks limits what is subtracted; a single
        block does not lower it much. On several cores, CPU time says nothing of waits."""
        length = self._interleaver.length
        sides = [timed.samples.wall_ms for timed in (*self._interleaver.timed_workers, alone)]
        short_ms = min(quartiles(took_ms)[0] for took_ms in sides if took_ms)
        trusted = (self._interleaver.baseline.samples, alone.samples) if one_core else ()
        waits_ms = [wait_ms * length for samples in trusted for wait_ms in samples.waits_ms()]
        start, most_ms = time.monotonic(), limit_ms(short_ms * length)
        took_ms: list[float] = []
        busy_ms: list[float] = []
        for blank_ms, used_ms in self._interleaver.host_blanks(alone):
            took_ms.append(blank_ms)
            busy_ms.append(used_ms)
            elapsed_s = time.monotonic() - start
            is_slow = min(took_ms) > most_ms
            wanted = limits.MIN_CALLS if elapsed_s < limits.BLANKS_S else limits.LEAST_CALLS
            if len(took_ms) >= wanted and (not is_slow or elapsed_s >= limits.SLOW_BLANKS_S):
                break
            if len(took_ms) % IN_A_ROW == 0:
                time.sleep(PAUSE_S)
        bounds_ms = [wait_ms + statistics.median(busy_ms) for wait_ms in waits_ms]
        return Blank(max(min([*took_ms, *bounds_ms, most_ms]), 0.0) / length, is_slow)

    def others(self, blank_ms: float, statistic: Statistic | None) -> dict[str, TimingSide]:
        """The extra baselines. If one is clearly faster without the candidate (is_slower), that time counts."""
        candidate = self._interleaver.candidate.summary(blank_ms)
        found: dict[str, TimingSide] = {}
        for kind, timed in tuple(self._interleaver.others.items()):
            with self._interleaver.sparing(timed):
                alone = self._interleaver.anew(timed)
                for _ in self._blocks(alone, FULL):
                    pass
                beside, without = timed.summary(blank_ms), alone.summary(blank_ms)
                found[kind] = without if is_slower(beside, without, candidate, statistic) else beside
        return found

    def _blocks(self, alone: TimedWorker, effort: Effort) -> Iterator[list[Answer]]:
        """Run a few blocks, of at least LEAST_CALLS calls."""
        least = max(effort.alone.least, -(-limits.LEAST_CALLS // self._interleaver.length))
        for _ in effort.alone._replace(least=least).turns():
            yield self._interleaver.block(alone)
            self._look()


def limit_ms(short_ms: float) -> float:
    """The most to subtract from each block if a short one took this long."""
    return min(limits.BLANK_SHARE * short_ms, max(limits.BLANK_MS, limits.BLANK_SMALL_SHARE * short_ms))
