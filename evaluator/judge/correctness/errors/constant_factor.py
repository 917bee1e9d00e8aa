"""Finds by least squares whether an output is the right one times a constant factor."""

import torch

LEAST_ELEMENTS = 64
"""With fewer elements a factor means nothing."""
RESIDUAL_SHARE = 1e-2
"""After division by the factor, at most this share of the error's squares around their mean may remain. Rounding toward zero leaves
a quarter. Around their mean, since for nearly equal values any constant error is a factor."""

LEAST_SPREAD = 1e-12
"""Minimum share of the error's squares that is around their mean: less is rounding of the sums."""


class FactorFit:
    """Collects candidate and oracle, chunk by chunk."""

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
