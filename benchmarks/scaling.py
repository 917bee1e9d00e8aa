"""From some to all: what a whole takes when a part of it, drawn at random, has been measured."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scaled:
    """Time of a whole."""

    total_s: float
    error_s: float | None
    """Standard error, for a sample without replacement; 0 where all were measured, None where it was one of many."""
    measured: int
    of: int


def scaled(sample_s: Sequence[float], count: int) -> Scaled:
    """`count` items, of which `sample_s` (one or more) are the times of some that were drawn at random without replacement."""
    measured = len(sample_s)
    total_s = statistics.fmean(sample_s) * count
    if measured == count:
        return Scaled(total_s, 0.0, measured, count)
    if measured == 1:
        return Scaled(total_s, None, measured, count)
    error_s = count * statistics.stdev(sample_s) * math.sqrt((1 - measured / count) / measured)
    return Scaled(total_s, error_s, measured, count)
