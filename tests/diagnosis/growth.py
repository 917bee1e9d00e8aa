"""How the time of a function grows with its input."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

FACTOR = 4
LEAST_S = 2e-3
"""Shorter work is lost in the noise."""


def growth(work: Callable[[T], object], made: Callable[[int], T], size: int) -> float:
    """The ratio of times for FACTOR times the size: about FACTOR for linear work, its square for quadratic work."""
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
