"""The tolerance, from the dtype and the reference's own error."""

import pytest
import torch

from evaluator.judge import limits
from evaluator.judge.correctness.tolerance import BASE_TOLERANCE, allowed_error, base_tolerance
from evaluator.judge.problem_check.trivial_answers import NARROWER


@pytest.mark.parametrize(("dtype", "factor"), [(torch.float16, 4.0), (torch.bfloat16, 1.0)])
def test_the_tolerance_has_no_room_for_the_next_narrower_type_however_far_off_the_reference_is(dtype: torch.dtype, factor: float) -> None:
    values = torch.randn(1 << 20, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    error = ((values.to(NARROWER[dtype]).double() - values).abs() / (values.abs() + 1)).max()
    informative = [BASE_TOLERANCE[dtype] * limits.UNINFORMATIVE_FACTOR * share / 32 for share in range(33)]
    assert all(reference_error < factor * allowed_error(dtype, reference_error) < error for reference_error in informative)


@pytest.mark.parametrize("dtype", BASE_TOLERANCE)
def test_the_tolerance_grows_with_the_references_error_and_leaves_it_room(dtype: torch.dtype) -> None:
    errors = [BASE_TOLERANCE[dtype] * 2.0**power for power in range(-8, 12)]
    bounds = [allowed_error(dtype, error) for error in errors]
    assert bounds == sorted(bounds) and bounds[0] == BASE_TOLERANCE[dtype]
    assert all(bound >= 2 * error for bound, error in zip(bounds, errors, strict=True))
    rounding = torch.finfo(dtype).eps / 4  # of a rounded answer, at the scale
    assert allowed_error(dtype, rounding) == max(BASE_TOLERANCE[dtype], 8 * rounding)


def test_only_long_sums_in_float32_widen_the_tolerance_and_not_without_end() -> None:
    lengths = [2**power for power in range(40)]
    bounds = [base_tolerance(torch.float32, terms) for terms in lengths]
    assert bounds == sorted(bounds) and bounds[-1] == limits.LONG_SUM_LIMIT
    assert all(bound == BASE_TOLERANCE[torch.float32] for bound, terms in zip(bounds, lengths, strict=True) if terms <= 1 << 15)
    assert base_tolerance(torch.float32, 1 << 20) == pytest.approx(3 * 2**10 * 2**-24)
    assert base_tolerance(torch.complex64, 1 << 20) == base_tolerance(torch.float32, 1 << 20)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        assert base_tolerance(dtype, 1 << 39) == BASE_TOLERANCE[dtype]


@pytest.mark.parametrize("terms", [1 << 14, 1 << 18, 1 << 22])
def test_a_sum_of_many_terms_one_after_another_is_within_the_tolerance(terms: int) -> None:
    values = torch.rand(terms, generator=torch.Generator().manual_seed(terms))
    one_by_one = float(values.cumsum(0)[-1]) if terms <= 1 << 18 else float(values.view(1 << 6, -1).cumsum(1)[:, -1].cumsum(0)[-1])
    right = float(values.double().sum())
    assert abs(one_by_one - right) / (2 * right) < allowed_error(torch.float32, 0.0, terms)
