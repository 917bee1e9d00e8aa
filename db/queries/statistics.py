"""Figures over many problems, each as its source defines it.

- fast_p: Ouyang et al., KernelBench: Can LLMs Write Efficient GPU Kernels? (2025), section 3: the share of all problems for which the
  answer is right and its speedup is greater than p. fast_0 is the share of problems that are solved.
- pass@k: Chen et al., Evaluating Large Language Models Trained on Code (2021), equation 1: of n samples with c right ones, the chance that
  at least one of k drawn without replacement is right, 1 - C(n - c, k) / C(n, k); unbiased, and the mean over problems counts.
- Sign test: the chance that a fair coin gives a split at least as uneven, in either direction (Conover, Practical Nonparametric
  Statistics, 3rd ed., section 3.4); ties are left out.
"""

import math
import random
from collections.abc import Sequence
from fractions import Fraction

FAST_P = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
"""Shown thresholds."""
PASS_AT = (1, 5, 10)
"""Shown numbers of samples."""
FAILURE_SPEEDUP = 0.1
"""Value of an unsolved problem in the geometric mean, and the minimum of a solved one.

With zero, one failure would make any mean zero. With one, as if the reference were used instead, giving up would beat a right but slow
kernel. A tenth is slower than any sensible submission; a tenth of all problems unsolved costs a fifth of the mean.
"""
_RESAMPLES = 2000


def fast_p(speedups: Sequence[float | None], p: float) -> float:
    """The share of problems with a right answer faster than `p` times the baseline's speed; None stands for an unsolved problem."""
    return sum(speedup is not None and speedup > p for speedup in speedups) / len(speedups) if speedups else 0.0


def pass_at_k(samples: int, right: int, k: int) -> float:
    """pass@k of one problem. Raises ValueError if there are fewer samples than `k`, or than right ones."""
    if not 0 < k <= samples or not 0 <= right <= samples:
        raise ValueError(f"pass@{k} of {right} right ones among {samples}")
    return 1.0 - math.comb(samples - right, k) / math.comb(samples, k)


def geometric_mean(speedups: Sequence[float | None]) -> float | None:
    """Geometric mean over all problems; an unsolved one counts `FAILURE_SPEEDUP`. None if there is no problem."""
    if not speedups:
        return None
    logs = [math.log(max(speedup or 0.0, FAILURE_SPEEDUP)) for speedup in speedups]
    return math.exp(math.fsum(logs) / len(logs))


def sign_test(wins: int, losses: int) -> float:
    """Two-sided p-value; 1 without wins and losses."""
    games = wins + losses
    fewer = sum(math.comb(games, count) for count in range(min(wins, losses) + 1))
    return float(min(Fraction(1), Fraction(2 * fewer, 2**games)))


def mean_ratio(ratios: Sequence[float], seed: int = 0) -> tuple[float, float, float] | None:
    """Geometric mean of ratios with a 95 % interval, lower and upper end: percentiles of bootstrap samples over the problems.

    The same ratios give the same interval. None if there is no ratio; the interval of a single ratio is that ratio.
    """
    if not ratios:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    chance = random.Random(seed)
    means = sorted(math.fsum(chance.choices(logs, k=len(logs))) / len(logs) for _ in range(_RESAMPLES))
    cut = int(_RESAMPLES * 0.025)
    low, high = means[cut], means[-1 - cut]
    return math.exp(math.fsum(logs) / len(logs)), math.exp(low), math.exp(high)
