"""The tolerance: the base tolerance of each dtype, widened for long sums and by the reference's own error, times the problem's factor.

The error of an element is |value - oracle| / (|oracle| + scale). The scale is the root mean square of the oracle's tensor, or of the row if
rows are independent. So the tolerance follows the output's magnitude: a tensor of zeros is wrong by about one half, even if the right
output is small. The tolerance is the larger of the base tolerance and a factor times the reference's error in that dtype. In half
precision it is limited, so that the next narrower type does not pass.

If inputs were changed in a way that the problem's author did not foresee, only a gross error decides: it also exceeds GROSS_ERROR times the
spread of the right values. Another order of a sum, TF32 and formulas with cancellation err by less.

Integers and booleans must equal the oracle's, or the reference's. Elements beyond this are in doubt, and
`evaluator.judge.correctness.monte_carlo` decides whether rounding explains them.

If the reference rounds to half precision on its way to an output, that type's tolerance is the output's: honest answers may keep more
digits there. A rounding to FP8 is a quantisation: its values are few, and rounding otherwise changes few of them.
"""

import math

import torch

BASE_TOLERANCE = {torch.float64: 1e-11, torch.float32: 4e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Base tolerance of each dtype: about 340 ulp of float32 (a sequential sum of 400,000 terms errs by 1e-5 and more), 2 ulp of float16 and
bfloat16, where rounding of intermediates dominates. Half precision posing as float32 errs by 2e-4 and more."""
LONG_SUM_UNITS = 3.0
"""A sum of n terms in float32 may err by this many roundings (2**-24) times the square root of n."""
LONG_SUM_LIMIT = 2e-4
"""Limit of the tolerance for long sums: products with 10 bits of mantissa err by about this much and more."""
GROSS_ERROR = 3e-2
"""An error above this share of |oracle - mean| + spread is gross. TF32 errs by about 1e-3, a constant output by one half and more."""
FLOAT8_SHARE = 0.25
"""FP8 outputs are compared by this share of a unit, so that every other value of a large element is in doubt."""
REFERENCE_FACTOR = 8.0
"""An answer's error may be this many times the reference's in the same dtype."""
HALF_PRECISION_LIMIT = {torch.float16: 5.0, torch.bfloat16: 4.0}
"""Multiples of the base tolerance beyond which the reference's error widens the tolerance only by LEAST_REFERENCE_FACTOR. In half precision
the largest of millions of errors, each of a few roundings, is about 1.5 base tolerances. Then the reference was not lucky, and eight times
that is the error of rounding to eight bits. If the reference errs by 0.7 base tolerances, honest attention with rounded scores errs by up
to 17 (20 are allowed, by its factor of 4). Rounding to the next narrower type errs by 21 and more."""
REFERENCE_SHARE = 1e-2
"""If the reference errs by more than the base tolerance at a smaller share of the elements, these hang on a rounding, and say nothing of
others: `monte_carlo` does."""
LEAST_REFERENCE_FACTOR = 2.0
"""An answer's error may always be this many times the reference's: its largest error is one of as many roundings."""
PRECISION_LOSS_BOUND = 1e-2
"""A wrong answer within this error, or within REFERENCE_FACTOR times the reference's, is `precision_loss`; beyond it is `wrong_values`."""
INACCURATE_REFERENCE = 4e-2
"""If a reference errs by more than this, single elements err by far more than the rest, more than by rounding to bfloat16. Then a wrong
answer whose RMS error is within PRECISION_LOSS_BOUND is `precision_loss`, too."""
ZERO_ERROR = 0.8
"""A tolerance of this much accepts zeros, and most other answers."""
UNCERTAIN_ERROR = 0.1
UNCERTAIN_SHARE, UNCERTAIN_ELEMENTS = 0.05, 16
"""If a reference errs by more than UNCERTAIN_ERROR at this share of an output's elements, and at this many, rounding decides on the output.
Gates that choose some of many depend on rounding at fewer elements, unless bfloat16 chooses among tens; lone numbers do by chance."""
UNINFORMATIVE_FACTOR = 2.5
"""A reference that errs by more than this many base tolerances is too inaccurate to judge by."""
UNINFORMATIVE_SHARE = 1e-3
"""A reference that differs from the oracle in a larger share of its exact elements is too inaccurate to judge by."""
MIN_ROW_ELEMENTS = 16
"""Rows with fewer elements are too short for a scale of their own."""


def is_exact(dtype: torch.dtype) -> bool:
    """Whether outputs of this dtype are compared exactly."""
    return not (dtype.is_floating_point or dtype.is_complex)


def is_float8(dtype: torch.dtype) -> bool:
    """Whether it is a floating-point type of eight bits."""
    return dtype.is_floating_point and dtype.itemsize == 1


def has_row_scale(shape: torch.Size, rows_independent: bool) -> bool:
    """Whether an output of this shape is judged on each row's own scale."""
    return rows_independent and len(shape) > 1 and shape[1:].numel() >= MIN_ROW_ELEMENTS


def precision(dtype: torch.dtype, rounded_to: torch.dtype | None) -> torch.dtype:
    """The type whose tolerance an output has: its own, or the half precision to which a value on its way was rounded."""
    if rounded_to not in HALF_PRECISION_LIMIT or is_exact(dtype) or is_float8(dtype):
        return dtype
    real = dtype.to_real() if dtype.is_complex else dtype
    return max(real, rounded_to, key=lambda each: torch.finfo(each).eps)


def base_tolerance(dtype: torch.dtype, terms: int = 1) -> float:
    """The base tolerance of this dtype, for sums of this many terms."""
    if dtype.is_complex:
        dtype = dtype.to_real()
    base = BASE_TOLERANCE[dtype] if dtype in BASE_TOLERANCE else FLOAT8_SHARE * torch.finfo(dtype).eps
    if dtype is torch.float32:
        base = max(base, min(LONG_SUM_UNITS * math.sqrt(terms) * 2**-24, LONG_SUM_LIMIT))
    return base


def allowed_error(dtype: torch.dtype, reference_error: float, terms: int = 1) -> float:
    """The tolerance of this dtype if the reference's error is `reference_error`, before the problem's factor.

    `terms` is the length of the longest sum behind an element.
    """
    base = base_tolerance(dtype, terms)
    if is_float8(dtype):
        return base
    widened = REFERENCE_FACTOR * reference_error
    if dtype in HALF_PRECISION_LIMIT:
        widened = min(widened, max(HALF_PRECISION_LIMIT[dtype] * base, LEAST_REFERENCE_FACTOR * reference_error))
    return max(base, widened)


def is_informative(dtype: torch.dtype, reference_error: float, terms: int = 1) -> bool:
    """Whether a reference with this error is accurate enough to judge by."""
    return reference_error <= UNINFORMATIVE_FACTOR * base_tolerance(dtype, terms)


def accepts_zeros(dtype: torch.dtype, reference_error: float) -> bool:
    """Whether the tolerance for a reference with this error accepts zeros, before the problem's factor."""
    return allowed_error(dtype, reference_error) >= ZERO_ERROR


def is_informative_exact(reference_slips: int, elements: int) -> bool:
    """Whether a reference with this many slips among its exact elements is accurate enough to judge by."""
    return reference_slips <= UNINFORMATIVE_SHARE * elements


def is_precision_loss(error: float, rms_error: float, reference_error: float, factor: float) -> bool:
    """Whether a wrong answer with this largest error and this RMS error counts as precision loss. `factor` is the problem's."""
    bound = max(PRECISION_LOSS_BOUND, factor * REFERENCE_FACTOR * reference_error)
    return error <= bound or (reference_error > INACCURATE_REFERENCE and rms_error <= PRECISION_LOSS_BOUND)
