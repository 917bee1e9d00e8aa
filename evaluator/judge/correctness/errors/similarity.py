"""Finds what a wrong output resembles: zeros, the right one times a number, the right one rounded to half precision.

Large outputs are sampled at regular distances: each element takes ten times as long as deciding whether it is wrong.
"""

import math

import torch

MOST_ELEMENTS = 1 << 26
LEAST_ELEMENTS = 64
"""With fewer elements a resemblance or a factor means nothing."""
RESIDUAL_SHARE = 1e-2
"""After division by the factor, at most this share of the error's squares around their mean may remain. Rounding toward zero leaves
a quarter. Around their mean, since for nearly equal values any constant error is a factor."""
LEAST_SPREAD = 1e-12
"""Minimum share of the error's squares that is around their mean: less is rounding of the sums."""
CONSTANT_SPREAD = 1e-2
"""A ratio or a difference counts as constant up to this standard deviation divided by its mean."""
EXCESS_SPREAD = 0.1
"""A ratio counts as constant up to this standard deviation divided by its difference from 1."""
ROUNDED_SHARE = 0.999
OWN_ROUNDED_SHARE = 0.5
"""If this share of the right values are numbers of the narrower type, wrong values of that type mean nothing."""
NARROW = {"bfloat16": torch.bfloat16, "float16": torch.float16}
"""The type with fewer bits first: most of its numbers are also numbers of the other."""


class Similarity:
    """Collects candidate and oracle, chunk by chunk."""

    def __init__(self, dtype: torch.dtype, elements: int) -> None:
        """For outputs of this dtype with this many elements."""
        self._step = max(elements // MOST_ELEMENTS, 1) | 1  # odd, as few sizes of dimensions are
        self._wide = dtype in (torch.float32, torch.float64)
        self._wrong = self._zeros = 0
        self._least, self._largest = math.inf, -math.inf
        self._ratio, self._difference = _Moments(), _Moments()
        self._values = 0
        self._value_range = (math.inf, -math.inf)
        self._rounded = dict.fromkeys(NARROW, 0)
        self._own_rounded = dict.fromkeys(NARROW, 0)

    def add(self, candidate: torch.Tensor, oracle: torch.Tensor, wrong: torch.Tensor) -> None:
        """`candidate`, `oracle`: shape (n,), float64 or int64; `wrong`: bool, shape (n,)."""
        candidate, oracle, wrong = (tensor[:: self._step] for tensor in (candidate, oracle, wrong))
        if self._wide:
            self._add_rounded(candidate, oracle)
        value, expected = candidate[wrong].double(), oracle[wrong].double()
        if not len(value):
            return
        self._wrong += len(value)
        self._zeros += int((value == 0).sum())
        self._least, self._largest = min(self._least, float(value.min())), max(self._largest, float(value.max()))
        usable = value.isfinite() & expected.isfinite() & (expected != 0)
        self._ratio.add(value[usable] / expected[usable])
        self._difference.add(value[usable] - expected[usable])

    def _add_rounded(self, candidate: torch.Tensor, oracle: torch.Tensor) -> None:
        usable = candidate.isfinite() & (candidate != 0)
        self._values += int(usable.sum())
        if len(candidate):
            least, largest = (float(value) for value in candidate.double().aminmax())
            self._value_range = (min(self._value_range[0], least), max(self._value_range[1], largest))
        own = oracle[usable].float()
        for name, narrow in NARROW.items():
            self._rounded[name] += int((candidate[usable].to(narrow).double() == candidate[usable]).sum())
            self._own_rounded[name] += int((own.to(narrow).float() == own).sum())

    def describe(self, factor: float | None = None) -> str:
        """In words; empty if it resembles nothing. `factor`: the constant by which the whole output differs from the right one, if any."""
        if self._wrong and self._zeros == self._wrong:
            return "all of them are 0"
        if self._wrong >= LEAST_ELEMENTS and self._least == self._largest:
            return f"all of them are {self._least:.6g}"
        if self._wrong >= LEAST_ELEMENTS:
            ratio, difference = factor if factor is not None else self._wrong_ratio(), self._difference.constant()
            if ratio is not None:
                return f"each is {_written(ratio)} times what is expected"
            if difference is not None:
                return f"each is {difference:+.4g} away from what is expected"
        if self._values >= LEAST_ELEMENTS and self._value_range[0] == self._value_range[1]:
            return f"every value of the output is {self._value_range[0]:.6g}"
        for name in NARROW if self._values >= LEAST_ELEMENTS else ():
            if self._rounded[name] >= ROUNDED_SHARE * self._values and self._own_rounded[name] < OWN_ROUNDED_SHARE * self._values:
                return f"every value is a number of {name}"
        if self._zeros * 2 > self._wrong >= LEAST_ELEMENTS:
            return f"{self._zeros} of them are 0"
        return ""

    def _wrong_ratio(self) -> float | None:
        """The factor of each wrong element to the right one, if clearly not 1: a factor near 1 may only be the wrong part of a scatter, of
        which the rest is within the tolerance."""
        ratio = self._ratio.constant()
        if ratio is None or abs(ratio - 1) <= CONSTANT_SPREAD or self._ratio.spread > EXCESS_SPREAD * abs(ratio - 1):
            return None
        return ratio


def _written(ratio: float) -> str:
    """The ratio with four digits, or as many as show its difference from 1."""
    excess = abs(ratio - 1)
    return f"{ratio:.{max(4, 3 - math.floor(math.log10(excess))) if 0 < excess < 1 else 4}g}"


class _Moments:
    """Count, mean and spread of numbers that come in parts (Chan, Golub, LeVeque: Updating Formulae, 1979)."""

    def __init__(self) -> None:
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, values: torch.Tensor) -> None:
        if not len(values):
            return
        mean, count = float(values.mean()), len(values)
        squares = float((values - mean).square().sum())
        total, apart = self._count + count, mean - self._mean
        # A product overflows to infinity. A Python power would raise.
        self._squares += squares + apart * apart * self._count * count / total
        self._mean += apart * count / total
        self._count = total

    @property
    def spread(self) -> float:
        """Their standard deviation."""
        return math.sqrt(self._squares / self._count) if self._count else 0.0

    def constant(self) -> float | None:
        """The number that all of them equal, within CONSTANT_SPREAD; None if they differ, are too large, or are 0."""
        if self._count < LEAST_ELEMENTS or not math.isfinite(self._mean + self._squares) or abs(self._mean) < 1e-12:
            return None
        return self._mean if self.spread <= CONSTANT_SPREAD * abs(self._mean) else None


class FactorFit:
    """Finds by least squares whether a whole output is the right one times a constant factor. Collects both, chunk by chunk."""

    def __init__(self) -> None:
        self._count = 0
        self._squared_oracle = self._error_sum = self._squared_error = self._product = 0.0

    def add(self, candidate: torch.Tensor, oracle: torch.Tensor) -> None:
        """Add tensors in float64, of one shape. Only finite elements count."""
        finite = candidate.isfinite() & oracle.isfinite()
        right = torch.where(finite, oracle, 0.0)
        error = torch.where(finite, candidate, 0.0).sub_(right)
        self._count += int(finite.sum())
        self._squared_oracle += float(right.square().sum())
        self._squared_error += float(error.square().sum())
        self._error_sum += float(error.sum())
        self._product += float(error.mul_(right).sum())

    @property
    def factor(self) -> float | None:
        """The factor, other than 0 and 1; None if the output is not the right one times a constant."""
        if self._count < LEAST_ELEMENTS or self._squared_oracle <= 0.0 or self._squared_error <= 0.0:
            return None
        excess = self._product / self._squared_oracle
        residual = self._squared_error - excess * self._product
        around_mean = self._squared_error - self._error_sum * self._error_sum / self._count
        # Both are False if a sum overflowed.
        constant = around_mean > LEAST_SPREAD * self._squared_error and residual <= RESIDUAL_SHARE * around_mean
        return 1.0 + excess if constant and excess != 0.0 and abs(1.0 + excess) > RESIDUAL_SHARE else None
