"""What error is allowed, by dtype and by the reference's own error."""

import pytest
import torch

from evaluator.judge.correctness.tolerance import BASE_TOLERANCE, UNINFORMATIVE_FACTOR, allowed_error
from evaluator.judge.problem_check.trivial_answers import NARROWER


@pytest.mark.parametrize(("dtype", "factor"), [(torch.float16, 4.0), (torch.bfloat16, 1.0)])
def test_the_tolerance_has_no_room_for_the_next_narrower_type_however_far_off_the_reference_is(dtype: torch.dtype, factor: float) -> None:
    values = torch.randn(1 << 20, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    error = ((values.to(NARROWER[dtype]).double() - values).abs() / (values.abs() + 1)).max()
    informative = [BASE_TOLERANCE[dtype] * UNINFORMATIVE_FACTOR * share / 32 for share in range(33)]
    assert all(reference_error < factor * allowed_error(dtype, reference_error) < error for reference_error in informative)


@pytest.mark.parametrize("dtype", BASE_TOLERANCE)
def test_the_tolerance_grows_with_the_references_error_and_leaves_it_room(dtype: torch.dtype) -> None:
    errors = [BASE_TOLERANCE[dtype] * 2.0**power for power in range(-8, 12)]
    bounds = [allowed_error(dtype, error) for error in errors]
    assert bounds == sorted(bounds) and bounds[0] == BASE_TOLERANCE[dtype]
    assert all(bound >= 2 * error for bound, error in zip(bounds, errors, strict=True))
    rounding = torch.finfo(dtype).eps / 4  # of a rounded answer, at the scale
    assert allowed_error(dtype, rounding) == max(BASE_TOLERANCE[dtype], 8 * rounding)
