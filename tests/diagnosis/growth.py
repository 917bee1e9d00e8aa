"""How the time of a piece of work grows with what it is given."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

FACTOR = 4
LEAST_S = 2e-3
"""Shorter work is lost in the noise."""


def growth(work: Callable[[T], object], made: Callable[[int], T], size: int) -> float:
    """How many times longer FACTOR times the size takes: about FACTOR where time grows with the size, its square where with the square."""
    return _least_s(work, made(FACTOR * size)) / max(_least_s(work, made(size)), LEAST_S)


def _least_s(work: Callable[[T], object], given: T) -> float:
    """Processor time of the fastest of three runs."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        work(given)
        taken.append(time.process_time() - start)
    return min(taken)


GROWS_LIKE_ITSELF = 2.5 * FACTOR
"""What separates growth with the size from growth with its square, with a wide margin for both."""
