"""A calibration's rates, and its device."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from evaluator.results.calibration import Calibration, Ceiling

MADE = Calibration(
    device_id="GPU-1",
    device_name="NVIDIA H200",
    driver="580",
    torch="2.11.0",
    measured_at=datetime(2026, 5, 1, tzinfo=UTC),
    repetitions=5,
    ceilings=(Ceiling(name="copy", per_s=4e12, uncertainty=0.01),),
)


def test_a_ceiling_by_name() -> None:
    ceiling = MADE.ceiling("copy")
    assert ceiling is not None and ceiling.per_s == 4e12
    assert MADE.ceiling("float8") is None


def test_it_is_of_one_device_under_one_software() -> None:
    assert MADE.fits("GPU-1", "NVIDIA H200", "580", "2.11.0")
    others = (
        ("GPU-2", "NVIDIA H200", "580", "2.11.0"),
        ("GPU-1", "NVIDIA H200", "590", "2.11.0"),
        ("GPU-1", "NVIDIA H200", "580", "2.12.0"),
    )
    assert not any(MADE.fits(*other) for other in others)


@pytest.mark.parametrize(("per_s", "uncertainty"), [(0.0, 0.0), (-1.0, 0.0), (float("inf"), 0.0), (1.0, 1.0), (1.0, -0.1)])
def test_what_is_no_ceiling(per_s: float, uncertainty: float) -> None:
    with pytest.raises(ValidationError):
        Ceiling(name="copy", per_s=per_s, uncertainty=uncertainty)
