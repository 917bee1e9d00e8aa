"""95 % confidence interval of a speedup, from the samples of one evaluation whose record has none.

Submission and baseline alternate, so call i of both saw the same machine: their ratio is one observation of the speedup. The interval
is that of the median of these ratios by order statistics (the inversion of the sign test; see Conover, Practical Nonparametric
Statistics, 3rd ed., section 3.2), which assumes no distribution of times. It is then scaled to the stored speedup, which may contain
charges that are not in the samples.
"""

import math
import statistics
from collections.abc import Sequence

CONFIDENCE = 0.95
FEWEST_SAMPLES = 6
"""Minimum samples: with fewer, no pair of order statistics has the confidence."""
MANY_SAMPLES = 1000
"""From so many samples on, the binomial distribution is approximated as normal."""


def speedup_interval(candidate_ms: Sequence[float], baseline_ms: Sequence[float], speedup: float) -> tuple[float, float]:
    """Lower and upper end; both are `speedup` if there are too few samples."""
    if min(len(candidate_ms), len(baseline_ms)) < FEWEST_SAMPLES or min(*candidate_ms, *baseline_ms) <= 0:
        return speedup, speedup
    if len(candidate_ms) == len(baseline_ms):
        ratios = [baseline / candidate for candidate, baseline in zip(candidate_ms, baseline_ms, strict=True)]
        low, high = median_interval(ratios)
        middle = statistics.median(ratios)
    else:
        (candidate_low, candidate_high), (baseline_low, baseline_high) = median_interval(candidate_ms), median_interval(baseline_ms)
        low, high = baseline_low / candidate_high, baseline_high / candidate_low
        middle = statistics.median(baseline_ms) / statistics.median(candidate_ms)
    scale = speedup / middle
    interval = min(low * scale, speedup), max(high * scale, speedup)
    return interval if math.isfinite(interval[1]) and interval[0] > 0 else (speedup, speedup)


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The order statistics around the median with `CONFIDENCE`; the extremes if there are fewer than `FEWEST_SAMPLES`."""
    ordered = sorted(values)
    skipped = _skipped(len(ordered))
    return ordered[skipped], ordered[len(ordered) - 1 - skipped]


def _skipped(count: int) -> int:
    """Values left out at each end: the largest s for which at most s heads in `count` coin throws have a chance of 2.5 % or less."""
    tail = (1 - CONFIDENCE) / 2
    if count >= MANY_SAMPLES:
        return math.floor((count - statistics.NormalDist().inv_cdf(1 - tail) * math.sqrt(count)) / 2) - 1
    heads, ways = 0, 1
    while ways <= tail * 2**count:
        heads += 1
        ways += math.comb(count, heads)
    return max(0, heads - 1)
