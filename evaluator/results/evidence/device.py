"""Limits of the device, and its state while calls were timed."""

from datetime import datetime
from typing import Literal

from evaluator.results.evidence.record import Record


class FloorEvidence(Record):
    """The minimum time of a call of the problem on the device (evaluator.judge.roofline.minimum_time)."""

    read_bytes: int
    """Bytes of the inputs and parameters that are needed completely."""
    written_bytes: int
    """Bytes of the output."""
    l2_bytes: int
    """Size of the device's L2 cache: so many bytes of the inputs, and of the output, need not move."""
    moved_bytes: int
    """The bytes of both that must move."""
    operations: float
    bytes_per_s: float
    """The device's measured bandwidth."""
    operations_per_s: float
    """The device's measured rate of arithmetic."""
    margin: float
    """Factor by which the device may be faster than measured."""
    floor_ms: float
    declared: bool
    """Whether the problem's file declares what is needed; otherwise only the output's bytes count."""


class LightEvidence(Record):
    """The speed of light: the time of the problem's work at the device's measured peak rates
    (evaluator.judge.roofline.speed_of_light). It is a scale; no verdict depends on it."""

    read_bytes: int
    """Bytes of inputs and parameters."""
    written_bytes: int
    """Bytes of the output."""
    moved_bytes: int
    """The bytes of both that don't fit in a cache."""
    operations: float
    arithmetic: str = ""
    """The number format of `operations_per_s`, and how many of its products make one; empty without operations."""
    bytes_per_s: float | None = None
    operations_per_s: float | None = None
    """Like `bytes_per_s`: the device's measured peak; None if the problem does not need it."""
    light_ms: float
    bound: Literal["memory", "arithmetic"]
    """The one that takes longer."""
    uncertainty: float | None = None
    """The calibration's uncertainty of that peak, as a share; None if only this process measured it."""
    calibrated_at: datetime | None = None
    declared: bool
    """Whether the problem's file declares the work; otherwise all inputs and parameters count, and PyTorch counts the operations."""

    def share(self, took_ms: float) -> float:
        """The share of the speed of light of a call that takes `took_ms`."""
        return self.light_ms / took_ms


class DeviceState(Record):
    """The device's state at one moment."""

    stage: str
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    throttled: str | None = None
    """The driver's reasons for the lowered clock, separated by commas; empty without a reason, None if unknown."""
    other_processes: int | None = None
    """Processes on the device that belong to no judge of this machine; None if unknown."""
    at_s: float | None = None
    """Seconds since the timing began."""


CROWDED_SHARE = 0.1
"""Maximum share of a timing that the judge may wait for a CPU core. With one busy thread per core each waits for about 5 %, with two for
half."""


class ConditionsEvidence(Record):
    """The device's state during the timing that counts, from `Evidence.device_states` and the driver's counters."""

    shared: bool | None = None
    """Whether other processes used the device; None if unknown."""
    throttled: str | None = None
    """Reasons for a lowered clock (heat, power supply, a fault), separated by commas; None if unknown."""
    crowded: float | None = None
    """Share of the time that the judge, or the baseline's worker, waited for a CPU core; on a CPU, of the baseline's time alone. None if
    unknown."""
    slow_requests: bool = False
    """Whether the judge's requests were too slow on a CPU (`TimingEvidence.slow_requests`). False in older records."""
    repeated: bool = False
    """Whether it was timed again because the device was shared or throttled, or requests were too slow, the first time."""
    first_runtime_ms: float | None = None
    first_baseline_ms: float | None = None
    """Like `first_runtime_ms`: a time of that first timing."""

    @property
    def disturbed(self) -> bool:
        """Whether the device was shared or throttled, or requests were too slow."""
        return bool(self.shared or self.throttled or self.slow_requests)

    @property
    def is_crowded(self) -> bool:
        """Whether there were too few CPU cores for the judge and the baseline."""
        return (self.crowded or 0.0) > CROWDED_SHARE

    @property
    def remark(self) -> str:
        """The disturbances of the times, in words; empty if none."""
        causes = [
            *(["others' processes were on the device"] if self.shared else []),
            *([f"its clock was lowered ({self.throttled})"] if self.throttled else []),
            *([f"there were too few CPU cores ({self.crowded:.0%} of the time)"] if self.is_crowded else []),
            *(["empty requests took too long beside its calls"] if self.slow_requests else []),
        ]
        again = ", in a second timing too" if self.repeated else ""
        return " and ".join(causes) + again if causes else ""


class StarvingEvidence(Record):
    """Device memory that the submission's processes held when too little was left for the judge."""

    held_bytes: int
    total_bytes: int
    """Memory of the device."""
