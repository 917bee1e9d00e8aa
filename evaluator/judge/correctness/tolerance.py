"""The tolerance: the base tolerance of each dtype, widened for long sums and by the reference's own error, times the problem's factor.

The error of an element is |value - oracle| / (|oracle| + scale). The scale is the root mean square of the oracle's tensor, or of the row if
rows are independent. So the tolerance follows the output's magnitude: a tensor of zeros is wrong by about one half, even if the right
output is small. The tolerance is the larger of the base tolerance and a factor times the reference's error in that dtype. In half
precision it is limited, so that the next narrower type does not pass.

If inputs were changed in a way that the problem's author did not foresee, only a gross error decides: it also exceeds GROSS_ERROR times the
spread of the right values. Another order of a sum, TF32 and formulas with cancellation err by less.

Integers and booleans must equal the oracle's, or the reference's. Elements beyond this are in doubt, and
`evaluator.judge.correctness.oracle.monte_carlo` decides whether rounding explains them.

If the reference rounds to half precision on its way to an output, that type's tolerance is the output's: honest answers may keep more
digits there. A rounding to FP8 is a quantisation: its values are few, and rounding otherwise changes few of them.
"""

import math
from collections.abc import Mapping

import torch

from evaluator.judge import limits
from evaluator.problem.declaration import PrecisionName

BASE_TOLERANCE = {
    torch.float64: limits.FLOAT64_TOLERANCE,
    torch.float32: limits.FLOAT32_TOLERANCE,
    torch.float16: limits.FLOAT16_TOLERANCE,
    torch.bfloat16: limits.BFLOAT16_TOLERANCE,
}
"""Base tolerance of each dtype. FP8 has a share of a unit."""
HALF_PRECISION_LIMIT = {torch.float16: limits.FLOAT16_FACTOR, torch.bfloat16: limits.BFLOAT16_FACTOR}
"""Multiples of the base tolerance beyond which the reference's error widens the tolerance only by LEAST_REFERENCE_FACTOR. In half precision
the largest of millions of errors, each of a few roundings, is about 1.5 base tolerances. Then the reference was not lucky, and eight times
that is the error of rounding to eight bits. If the reference errs by 0.7 base tolerances, honest attention with rounded scores errs by up
to 17 (20 are allowed, by its factor of 4). Rounding to the next narrower type errs by 21 and more."""


def is_exact(dtype: torch.dtype) -> bool:
    """Whether outputs of this dtype are compared exactly."""
    return not (dtype.is_floating_point or dtype.is_complex)


def is_float8(dtype: torch.dtype) -> bool:
    """Whether it is a floating-point type of eight bits."""
    return dtype.is_floating_point and dtype.itemsize == 1


def has_row_scale(shape: torch.Size, rows_independent: bool) -> bool:
    """Whether an output of this shape is judged on each row's own scale."""
    return rows_independent and len(shape) > 1 and shape[1:].numel() >= limits.MIN_ROW_ELEMENTS


def precision(dtype: torch.dtype, rounded_to: torch.dtype | None) -> torch.dtype:
    """The type whose tolerance an output has: its own, or the half precision to which a value on its way was rounded."""
    if rounded_to not in HALF_PRECISION_LIMIT or is_exact(dtype) or is_float8(dtype):
        return dtype
    real = dtype.to_real() if dtype.is_complex else dtype
    return max(real, rounded_to, key=lambda each: torch.finfo(each).eps)


def factor_in(dtype: torch.dtype, factor: float | Mapping[PrecisionName, float]) -> float:
    """A problem's factor on the tolerance of this dtype."""
    if not isinstance(factor, Mapping):
        return factor
    real = dtype.to_real() if dtype.is_complex else dtype
    return next((value for name, value in factor.items() if getattr(torch, name) is real), 1.0)


def base_tolerance(dtype: torch.dtype, terms: int = 1) -> float:
    """The base tolerance of this dtype, for sums of this many terms."""
    if dtype.is_complex:
        dtype = dtype.to_real()
    base = BASE_TOLERANCE[dtype] if dtype in BASE_TOLERANCE else limits.FLOAT8_SHARE * torch.finfo(dtype).eps
    if dtype is torch.float32:
        base = max(base, min(limits.LONG_SUM_UNITS * math.sqrt(terms) * 2**-24, limits.LONG_SUM_LIMIT))
    return base


def allowed_error(dtype: torch.dtype, reference_error: float, terms: int = 1) -> float:
    """The tolerance of this dtype if the reference's error is `reference_error`, before the problem's factor.

    `terms` is the length of the longest sum behind an element.
    """
    base = base_tolerance(dtype, terms)
    if is_float8(dtype):
        return base
    widened = limits.REFERENCE_FACTOR * reference_error
    if dtype in HALF_PRECISION_LIMIT:
        widened = min(widened, max(HALF_PRECISION_LIMIT[dtype] * base, limits.LEAST_REFERENCE_FACTOR * reference_error))
    return max(base, widened)


def is_informative(dtype: torch.dtype, reference_error: float, terms: int = 1) -> bool:
    """Whether a reference with this error is accurate enough to judge by."""
    return reference_error <= limits.UNINFORMATIVE_FACTOR * base_tolerance(dtype, terms)


def accepts_zeros(dtype: torch.dtype, reference_error: float) -> bool:
    """Whether the tolerance for a reference with this error accepts zeros, before the problem's factor."""
    return allowed_error(dtype, reference_error) >= limits.ZERO_ERROR


def is_informative_exact(reference_slips: int, elements: int) -> bool:
    """Whether a reference with this many slips among its exact elements is accurate enough to judge by."""
    return reference_slips <= limits.UNINFORMATIVE_SHARE * elements


def is_precision_loss(error: float, rms_error: float, reference_error: float, factor: float) -> bool:
    """Whether a wrong answer with this largest error and this RMS error counts as precision loss. `factor` is the problem's."""
    bound = max(limits.PRECISION_LOSS_BOUND, factor * limits.REFERENCE_FACTOR * reference_error)
    return error <= bound or (reference_error > limits.INACCURATE_REFERENCE and rms_error <= limits.PRECISION_LOSS_BOUND)
