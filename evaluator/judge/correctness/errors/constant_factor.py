"""Whether an answer is the right one times a constant factor, by least squares."""

import torch

LEAST_ELEMENTS = 64
"""With fewer elements a factor means nothing."""
RESIDUAL_SHARE = 1e-2
"""What may be left of the error once the factor is divided out: this share of its squares around their mean. Rounding toward zero leaves
a quarter. Around their mean, since of values that are all but equal any constant error is a factor."""

LEAST_SPREAD = 1e-12
"""Of the error's squares, what is around their mean: less is rounding of the sums."""


class FactorFit:
    """Collects candidate and oracle, chunk by chunk."""

    def __init__(self) -> None:
        self._count = 0
        self._squared_oracle = self._error_sum = self._squared_error = self._product = 0.0

    def add(self, candidate: torch.Tensor, oracle: torch.Tensor) -> None:
        """Both in float64 and of one shape; only what is finite counts."""
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
        """The factor, other than 0 and 1; None where the answer is no constant factor times the right one."""
        if self._count < LEAST_ELEMENTS or self._squared_oracle <= 0.0 or self._squared_error <= 0.0:
            return None
        excess = self._product / self._squared_oracle
        residual = self._squared_error - excess * self._product
        around_mean = self._squared_error - self._error_sum * self._error_sum / self._count
        # Both are False where a sum overflowed.
        constant = around_mean > LEAST_SPREAD * self._squared_error and residual <= RESIDUAL_SHARE * around_mean
        return 1.0 + excess if constant and excess != 0.0 and abs(1.0 + excess) > RESIDUAL_SHARE else None
