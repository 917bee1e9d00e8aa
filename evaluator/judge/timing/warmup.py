"""The warm-up of a timing: all sides are called until their times change no more."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.judge.timing.interleave import Interleaver
from evaluator.judge.timing.timed_worker import TimedWorker

WARM_UP_CALLS = 4
STEADY_SHARE = 0.02
"""Warm-up ends when the medians of the last WARM_UP_CALLS calls and of those before them differ by no more than this, on every side."""
WARM_UP_S = 0.3
MOST_WARM_UP_CALLS = 100
"""It ends then in any case, with WARM_UP_CALLS done."""


@dataclass(frozen=True)
class WarmUp:
    """What the warm-up came to."""

    calls: int
    """Of each side."""
    steady: bool
    """Whether it was over before its time was."""
    call_ms: float
    """What the slowest side's calls took in the end."""


def warm_up(turns: Interleaver) -> WarmUp:
    """Call all sides in turns until none of their times changes any more, or until there is no more time for that.

    Raises WorkerError, ProtocolError, BaselineFailedError, ProblemError.
    """
    start = time.monotonic()
    sides: list[tuple[TimedWorker, list[float]]] = [(side, []) for side in turns.sides]
    calls, steady = 0, False
    while not steady and (calls < WARM_UP_CALLS or time.monotonic() - start < WARM_UP_S):
        calls += 1
        for side, times_ms in sides:
            with turns.sparing(side):
                times_ms.append(turns.warming_call(side))
        sides = [(side, times_ms) for side, times_ms in sides if any(side is left for left in turns.sides)]
        steady = all(is_steady(times_ms) for _, times_ms in sides)
        if calls >= MOST_WARM_UP_CALLS:
            break
    return WarmUp(calls, steady, max(statistics.median(times_ms[-WARM_UP_CALLS:]) for _, times_ms in sides))


def is_steady(times_ms: Sequence[float]) -> bool:
    """Whether the last WARM_UP_CALLS took as long as those before them."""
    last, before = times_ms[-WARM_UP_CALLS:], times_ms[-2 * WARM_UP_CALLS : -WARM_UP_CALLS]
    if len(before) < WARM_UP_CALLS:
        return False
    middle_ms = statistics.median(last)
    return abs(middle_ms - statistics.median(before)) <= STEADY_SHARE * middle_ms
