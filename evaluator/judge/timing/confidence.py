"""How sure a ratio of times is, when that is sure enough, and which samples are far from the others.

Candidate and baseline are timed in turns, a block of calls each. The interval is the percentile bootstrap's, with whole pairs of blocks
drawn anew (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 8 and 13): what both of a pair have in common, as the
device's clock of that moment, remains in the ratio of both. Samples are smoothed by the clock's resolution: medians of times that
come in steps would seem surer than they are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
WIDTH = 0.01
"""Of the interval, as a share of the ratio, at which there are calls enough."""
RESAMPLES = 400
MOST_DRAWN = 512
"""Samples of each side drawn for one resample: of more, the spread is taken to fall with the root of their number."""
FENCE = 3.0
"""Interquartile ranges beyond a quartile from which on a sample is marked (Tukey's outer fence)."""

Times = NDArray[np.float64]


def interval(candidate_ms: Sequence[float], baseline_ms: Sequence[float], blocks: int, *, paired: bool = True) -> tuple[float, float]:
    """What holds the median of the baseline's samples over that of the candidate's with 95 % confidence, both ends within reach of it.

    Both are samples in the order of their blocks, as many in each. Unpaired, the baseline's are blocks of one, apart from the candidate's.
    """
    generator = np.random.default_rng()
    candidate = _in_blocks(candidate_ms, blocks)
    baseline = _in_blocks(baseline_ms, blocks if paired else len(baseline_ms))
    ratio = float(np.median(baseline) / np.median(candidate))
    drawn, shrink = _draw(candidate, generator)
    of_baseline, shrink_baseline = (drawn, shrink) if paired else _draw(baseline, generator)
    ratios = _medians(baseline, of_baseline, generator) / _medians(candidate, drawn, generator)
    low, high = np.quantile(np.log(ratios / ratio), ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    scale = max(shrink, shrink_baseline)
    return ratio * float(np.exp(min(low, 0.0) * scale)), ratio * float(np.exp(max(high, 0.0) * scale))


def is_narrow(found: tuple[float, float]) -> bool:
    """Whether an interval is as narrow as is asked for."""
    low, high = found
    return high - low < WIDTH * (low + high) / 2


def outliers(samples_ms: Sequence[float]) -> tuple[int, ...]:
    """Positions of the samples beyond Tukey's outer fences; they are kept."""
    times = np.asarray(samples_ms, dtype=np.float64)
    if len(times) < 4:
        return ()
    lower, upper = np.quantile(times, (0.25, 0.75))
    reach = FENCE * (upper - lower)
    return tuple(int(position) for position in np.flatnonzero((times < lower - reach) | (times > upper + reach)))


def step(samples_ms: Sequence[float]) -> float:
    """The clock's resolution as far as samples show it: the least difference between two that differ; 0 where none do."""
    differences = np.diff(np.unique(np.asarray(samples_ms, dtype=np.float64)))
    return float(differences.min()) if len(differences) else 0.0


def _in_blocks(samples_ms: Sequence[float], blocks: int) -> Times:
    """Shape (blocks, samples of one)."""
    return np.asarray(samples_ms, dtype=np.float64).reshape(blocks, -1)


def _draw(times: Times, generator: np.random.Generator) -> tuple[NDArray[np.int64], float]:
    """Which blocks each resample is of, shape (RESAMPLES, blocks drawn), and how much closer to the median a resample of all would be."""
    blocks, length = times.shape
    count = max(1, min(blocks, MOST_DRAWN // length))
    return generator.integers(0, blocks, (RESAMPLES, count)), float(np.sqrt(count / blocks))


def _medians(times: Times, drawn: NDArray[np.int64], generator: np.random.Generator) -> Times:
    """Of each resample; shape (RESAMPLES,)."""
    found = times[drawn].reshape(len(drawn), -1)
    width = step(times.ravel().tolist())
    smoothed = np.median(found + generator.uniform(-width / 2, width / 2, found.shape), axis=1)
    return np.asarray(np.maximum(smoothed, times.min() / 2))
