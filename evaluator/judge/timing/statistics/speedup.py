"""The speedup, its confidence interval, and which samples are outliers.

Candidate and baseline are timed in turns, one timing block each. The interval is a percentile bootstrap over whole pairs of blocks (Efron
and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 8 and 13). So common influences on both blocks of a pair, such as the GPU's
clock, cancel in their ratio. Samples are smoothed by the clock's resolution: without this, the interval of times that come in steps would
be too narrow.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluator.judge import limits
from evaluator.results.evidence.timing import Statistic

RESAMPLES = 400
MOST_DRAWN = 512
"""Maximum samples of each worker in one resample. For more samples, the spread is taken to fall with the square root of their number."""
FENCE = 3.0
"""A sample is marked if it is more than this many interquartile ranges beyond a quartile (Tukey's outer fence)."""
SHARES: dict[Statistic, float] = {"median": 0.5, "lower_quartile": 0.25}

Times = NDArray[np.float64]


def speedup_of(runtime_ms: float | None, baseline_ms: float | None) -> float | None:
    """The baseline's time divided by the candidate's; None if either is unknown."""
    return baseline_ms / runtime_ms if baseline_ms and runtime_ms else None


def interval(
    candidate_ms: Sequence[float],
    baseline_ms: Sequence[float],
    blocks: int,
    *,
    paired: bool = True,
    statistic: Statistic = "median",
    of_baseline: Statistic | None = None,
) -> tuple[float, float]:
    """The 95 % confidence interval of the speedup: the statistic of the baseline's samples divided by that of the candidate's.
    of_baseline: the baseline's statistic, if it is another.

    Samples are in the order of their blocks, with equally many in each. Unpaired, each of the baseline's samples is a block of its own.
    """
    generator = np.random.default_rng()
    candidate = _in_blocks(candidate_ms, blocks)
    baseline = _in_blocks(baseline_ms, blocks if paired else len(baseline_ms))
    share, share_of_baseline = SHARES[statistic], SHARES[of_baseline or statistic]
    ratio = float(_quantile(baseline, share_of_baseline) / _quantile(candidate, share))
    drawn, shrink = _draw(candidate, generator)
    drawn_of_baseline, shrink_baseline = (drawn, shrink) if paired else _draw(baseline, generator)
    ratios = _resampled(baseline, drawn_of_baseline, generator, share_of_baseline) / _resampled(candidate, drawn, generator, share)
    low, high = np.quantile(np.log(ratios / ratio), ((1 - limits.CONFIDENCE) / 2, (1 + limits.CONFIDENCE) / 2))
    scale = max(shrink, shrink_baseline)
    return ratio * float(np.exp(min(low, 0.0) * scale)), ratio * float(np.exp(max(high, 0.0) * scale))


def is_narrow(found: tuple[float, float]) -> bool:
    """Whether an interval is narrow enough to stop."""
    low, high = found
    return high - low < limits.INTERVAL_WIDTH * (low + high) / 2


def outliers(samples_ms: Sequence[float]) -> tuple[int, ...]:
    """Positions of the samples beyond Tukey's outer fences. These samples still count."""
    times = np.asarray(samples_ms, dtype=np.float64)
    if len(times) < 4:
        return ()
    lower, upper = np.quantile(times, (0.25, 0.75))
    reach = FENCE * (upper - lower)
    return tuple(int(position) for position in np.flatnonzero((times < lower - reach) | (times > upper + reach)))


def step(samples_ms: Sequence[float]) -> float:
    """The clock's resolution as samples show it: the smallest difference between two different samples; 0 if all are equal."""
    differences = np.diff(np.unique(np.asarray(samples_ms, dtype=np.float64)))
    return float(differences.min()) if len(differences) else 0.0


def _quantile(times: Times, share: float, axis: int | None = None) -> Times:
    """The quantile, defined as in evaluator.judge.timing.statistics.samples.quartiles."""
    return np.asarray(np.quantile(times, share, axis=axis, method="weibull"), dtype=np.float64)


def _in_blocks(samples_ms: Sequence[float], blocks: int) -> Times:
    """The samples with shape (blocks, samples per block)."""
    return np.asarray(samples_ms, dtype=np.float64).reshape(blocks, -1)


def _draw(times: Times, generator: np.random.Generator) -> tuple[NDArray[np.int64], float]:
    """The blocks of each resample, shape (RESAMPLES, blocks); and the factor by which resamples of all blocks are closer to the median."""
    blocks, length = times.shape
    count = max(1, min(blocks, MOST_DRAWN // length))
    return generator.integers(0, blocks, (RESAMPLES, count)), float(np.sqrt(count / blocks))


def _resampled(times: Times, drawn: NDArray[np.int64], generator: np.random.Generator, share: float) -> Times:
    """The quantile of each resample; shape (RESAMPLES,)."""
    found = times[drawn].reshape(len(drawn), -1)
    width = step(times.ravel().tolist())
    smoothed = _quantile(found + generator.uniform(-width / 2, width / 2, found.shape), share, axis=1)
    return np.asarray(np.maximum(smoothed, times.min() / 2))
