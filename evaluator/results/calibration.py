"""A device's measured peaks: the bandwidth of copying, and the rate of matrix products by number format.

`assay calibrate` measures them and the database stores them. The speed of light and the minimum time of a problem
are computed from them.
"""

from datetime import datetime

from pydantic import Field

from evaluator.results.evidence import Record

COPY = "copy"
"""The peak rate of bytes; all others are rates of operations."""


class Ceiling(Record):
    """One measured peak of the device."""

    name: str
    """`copy`, or a number format such as `bfloat16`."""
    per_s: float = Field(gt=0, allow_inf_nan=False)
    """The best repetition's rate: of bytes read plus bytes written, or of additions plus multiplications."""
    uncertainty: float = Field(ge=0, lt=1)
    """1 - worst / best repetition."""


class Calibration(Record):
    """The peaks of one device with one driver and one PyTorch."""

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
        """The peak of that name; None if it was not measured, for example because the device lacks the format."""
        return next((each for each in self.ceilings if each.name == name), None)

    def fits(self, device_id: str, device_name: str, driver: str | None, torch: str) -> bool:
        """Whether it was measured on this device, with the same software."""
        return (self.device_id, self.device_name, self.driver, self.torch) == (device_id, device_name, driver, torch)
