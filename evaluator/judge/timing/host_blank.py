"""The time of an empty request on the CPU. The judge subtracts it from each timing block: its calls take only the rest.

Other load lengthens empty requests, sometimes all of them, but never what they really cost. So the judge believes the smallest of:

- the fastest empty request;
- on one core, the least wait of the baseline's requests, empty or not, plus the CPU time of an empty one. A request's wait is its wall time
  minus its CPU time, so each of the baseline's blocks shows it;
- a limit, which keeps a part of a short block for its calls.

All empty requests go to the baseline's worker after the candidate has ended. So a submission can't slow them.
"""

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass

from evaluator.judge import limits

IN_A_ROW, PAUSE_S = 6, 0.01
"""After IN_A_ROW empty requests, the judge pauses: one burst of other load can't lengthen all."""


@dataclass(frozen=True)
class Blank:
    """The time of an empty request, or of a call's share of it."""

    ms: float
    is_slow: bool = False
    """On the CPU, whether even the fastest empty request took longer than the limit: then other load lengthens all times."""


def limit_ms(short_ms: float) -> float:
    """The most to subtract from each block if a short one took this long."""
    return min(limits.BLANK_SHARE * short_ms, max(limits.BLANK_MS, limits.BLANK_SMALL_SHARE * short_ms))


def host_blank(blanks: Iterable[tuple[float, float]], short_ms: float, waits_ms: Iterable[float]) -> Blank:
    """Make empty requests until there are enough. blanks: wall time and CPU time of each. short_ms: the lower quartile of the blocks of
    the fastest side; a single block does not lower it much. waits_ms: the waits of the baseline's blocks on one core; none on several,
    where CPU time says nothing of waits."""
    start, most_ms = time.monotonic(), limit_ms(short_ms)
    took_ms: list[float] = []
    busy_ms: list[float] = []
    for blank_ms, used_ms in blanks:
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
    return Blank(max(min([*took_ms, *bounds_ms, most_ms]), 0.0), is_slow)
