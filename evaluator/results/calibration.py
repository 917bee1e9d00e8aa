"""What a device was measured to reach: the bandwidth of copying, and the rate of matrix products by number format.

`python -m command.calibrate` measures it and the database keeps it. The speed of light and the minimum time of a
problem rest on it.
"""

from datetime import datetime

from pydantic import Field

from evaluator.results.evidence import Record

COPY = "copy"
"""The ceiling on bytes; every other is on operations."""


class Ceiling(Record):
    """One thing that the device does not do faster."""

    name: str
    """`copy`, or a format of numbers, as in `bfloat16`."""
    per_s: float = Field(gt=0, allow_inf_nan=False)
    """The best of all repetitions: bytes, read and written ones, or additions and multiplications."""
    uncertainty: float = Field(ge=0, lt=1)
    """How far the worst repetition fell behind the best, as a share of it."""


class Calibration(Record):
    """The ceilings of one device under one driver and one PyTorch."""

    device_id: str
    """A GPU's UUID, or `cpu`."""
    device_name: str
    driver: str | None = None
    """As `evaluator.results.result.Environment.gpu_driver`; None on the CPU."""
    torch: str
    measured_at: datetime
    repetitions: int = Field(ge=1)
    ceilings: tuple[Ceiling, ...]

    def ceiling(self, name: str) -> Ceiling | None:
        """The ceiling of that name; None where it was not measured, as of a format that the device does not have."""
        return next((each for each in self.ceilings if each.name == name), None)

    def fits(self, device_id: str, device_name: str, driver: str | None, torch: str) -> bool:
        """Whether it was measured on this device, under the same software."""
        return (self.device_id, self.device_name, self.driver, self.torch) == (device_id, device_name, driver, torch)
