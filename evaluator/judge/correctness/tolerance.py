"""How large an error is allowed: the tolerance of each dtype, how far long sums and the reference's own error widen it, and the problem's
factor on it.

The error of an element is |value - oracle| / (|oracle| + scale), where scale is the root mean square of the oracle's tensor, or of the row
where rows are independent. So the tolerance follows the output's own magnitude, and a tensor of zeros is wrong by about one half however
small the right answer is. The tolerance is the larger of the dtype's own and a factor times the error that the reference makes in that
dtype. In half precision it ends where the next narrower type would have room.

Where inputs were changed in a way that the problem's author did not foresee, only a gross error decides: one that is also more than
GROSS_ERROR of how far the right answer's elements are from each other. Other orders of a sum, TF32 and formulas that cancel err by less.

Integers and booleans must equal the oracle's. Some depend on rounding: a number just below a whole one, two values that all but tie.
There the reference in the submission's dtype differs from the oracle (a slip), and both answers are right. Another submission rounds in
another order and slips at other elements. So a small multiple of the reference's slips may differ, by no more than the reference's do.
Where the reference never slips, no submission may. Where it slips often, only its own slips are excused.
`evaluator.judge.correctness.integer_ties` excuses what is left and hangs on less than the inputs' precision.
"""

import math

import torch

BASE_TOLERANCE = {torch.float64: 1e-11, torch.float32: 4e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""What every answer in a dtype is allowed: about 340 ulp of a float32 (a sequential sum of 400,000 terms errs by 1e-5 and more),
2 of a float16 or bfloat16, whose rounding of intermediates dominates. Half precision posing as float32 errs by 2e-4 and more."""
LONG_SUM_UNITS = 2.0
"""A sum of n terms in float32 may err by so many roundings (2**-24) times the root of n."""
LONG_SUM_LIMIT = 2e-4
"""What no sum is allowed to err by, however long: products of 10 bits of mantissa err by about so much and more."""
GROSS_ERROR = 3e-2
"""An error above this share of |oracle - mean| + spread is gross. TF32 errs by about 1e-3, a constant by one half and more."""
REFERENCE_FACTOR = 8.0
"""How much worse than the reference in the same dtype an answer may be."""
HALF_PRECISION_LIMIT = {torch.float16: 5.0, torch.bfloat16: 4.0}
"""Multiples of the base tolerance beyond which the reference's error widens the tolerance by LEAST_REFERENCE_FACTOR only. In half precision
the largest of millions of errors, each of a few roundings, is some 1.5 times the base tolerance: the reference was not lucky then, and
eight times that is what rounding to eight bits costs. Where the reference errs by 0.7 of it, attention whose scores are rounded errs by up
to 17 and is honest (20 are allowed, by its factor of 4); rounding to the next narrower type errs by 21 and more."""
LEAST_REFERENCE_FACTOR = 2.0
"""How much worse than the reference an answer may be however far off that is: the largest error of as many others."""
PRECISION_LOSS_BOUND = 1e-2
"""A wrong answer within this error, or within REFERENCE_FACTOR times the reference's, is `precision_loss`; beyond it is `wrong_values`."""
UNINFORMATIVE_FACTOR = 2.5
"""A reference that errs by more than this many base tolerances is too inaccurate to judge by."""
SLIP_FACTOR = 4
"""How many exact elements may be off, for each in which the reference in the same dtype disagrees with the oracle."""
UNINFORMATIVE_SHARE = 1e-3
"""A reference that disagrees with the oracle in a larger share of its exact elements is too inaccurate to judge by."""
MIN_ROW_ELEMENTS = 16
"""Below this a row is too short for a root mean square of its own."""


def is_exact(dtype: torch.dtype) -> bool:
    """Whether outputs of this dtype are compared exactly."""
    return not (dtype.is_floating_point or dtype.is_complex)


def has_row_scale(shape: torch.Size, rows_independent: bool) -> bool:
    """Whether an output of this shape is judged on each row's own scale."""
    return rows_independent and len(shape) > 1 and shape[1:].numel() >= MIN_ROW_ELEMENTS


def base_tolerance(dtype: torch.dtype, terms: int = 1) -> float:
    """What every answer in this dtype is allowed that adds up so many terms for an element."""
    if dtype.is_complex:
        dtype = dtype.to_real()
    base = BASE_TOLERANCE[dtype] if dtype in BASE_TOLERANCE else 2 * torch.finfo(dtype).eps
    if dtype is torch.float32:
        base = max(base, min(LONG_SUM_UNITS * math.sqrt(terms) * 2**-24, LONG_SUM_LIMIT))
    return base


def allowed_error(dtype: torch.dtype, reference_error: float, terms: int = 1) -> float:
    """The largest error that an answer in this dtype may have, where the reference's is `reference_error`; before the problem's factor.

    `terms` is the length of the longest sum behind an element.
    """
    base = base_tolerance(dtype, terms)
    widened = REFERENCE_FACTOR * reference_error
    if dtype in HALF_PRECISION_LIMIT:
        widened = min(widened, max(HALF_PRECISION_LIMIT[dtype] * base, LEAST_REFERENCE_FACTOR * reference_error))
    return max(base, widened)


def allowed_exact_error(slips: int, reference_slips: int, reference_error: float, elements: int) -> float:
    """The same for an exact output: `slips` of its elements are neither the oracle's nor the reference's, and `reference_slips` of the
    reference's are not the oracle's."""
    excused = SLIP_FACTOR * reference_slips if is_informative_exact(reference_slips, elements) else 0
    return reference_error if slips <= excused else 0.0


def is_informative(dtype: torch.dtype, reference_error: float, terms: int = 1) -> bool:
    """Whether a reference with this error is accurate enough for its answer to say anything about another's."""
    return reference_error <= UNINFORMATIVE_FACTOR * base_tolerance(dtype, terms)


def is_informative_exact(reference_slips: int, elements: int) -> bool:
    """The same of an exact output, by how many of its elements are not the oracle's."""
    return reference_slips <= UNINFORMATIVE_SHARE * elements


def is_precision_loss(error: float, reference_error: float, factor: float) -> bool:
    """Whether a wrong answer with this largest error has lost precision, rather than being simply wrong. `factor` is the problem's."""
    return error <= max(PRECISION_LOSS_BOUND, factor * REFERENCE_FACTOR * reference_error)
