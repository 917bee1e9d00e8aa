"""Estimates the time of a whole from the measured times of a random part."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scaled:
    """Time of a whole."""

    total_s: float
    error_s: float | None
    """Standard error, for a sample without replacement; 0 if all were measured, None for a sample of one."""
    measured: int
    of: int


def scaled(sample_s: Sequence[float], count: int) -> Scaled:
    """Estimate for `count` items from `sample_s`, the times of one or more that were chosen at random without replacement."""
    measured = len(sample_s)
    total_s = statistics.fmean(sample_s) * count
    if measured == count:
        return Scaled(total_s, 0.0, measured, count)
    if measured == 1:
        return Scaled(total_s, None, measured, count)
    error_s = count * statistics.stdev(sample_s) * math.sqrt((1 - measured / count) / measured)
    return Scaled(total_s, error_s, measured, count)
