"""Limits of the device, and its state while calls were timed."""

from datetime import datetime
from typing import Literal

from evaluator.results.evidence.record import Record


class FloorEvidence(Record):
    """The least time that a call of the problem can take on the device (evaluator.judge.roofline.minimum_time)."""

    read_bytes: int
    """Of inputs and parameters that are needed whole."""
    written_bytes: int
    """Of the answer."""
    l2_bytes: int
    """Size of the device's L2 cache: as much of the inputs and of the answer need not move."""
    moved_bytes: int
    """The bytes of both that have to move."""
    operations: float
    bytes_per_s: float
    """The device's bandwidth, measured."""
    operations_per_s: float
    """The device's rate of arithmetic, measured."""
    margin: float
    """How much faster than measured the device is assumed to be."""
    floor_ms: float
    declared: bool
    """Whether the problem's file says what is needed; otherwise the answer's bytes alone are counted."""


class LightEvidence(Record):
    """The speed of light: the time of the problem's work at the rates that the device was measured to reach
    (evaluator.judge.roofline.speed_of_light). It is a scale; no verdict rests on it."""

    read_bytes: int
    """Of inputs and parameters."""
    written_bytes: int
    """Of the answer."""
    moved_bytes: int
    """The bytes of both that no cache holds."""
    operations: float
    arithmetic: str = ""
    """The number format that `operations_per_s` is of, and how many of its products make one; empty without operations."""
    bytes_per_s: float | None = None
    operations_per_s: float | None = None
    """The device's measured peaks; None where the problem does not need them."""
    light_ms: float
    bound: Literal["memory", "arithmetic"]
    """Which one takes longer."""
    uncertainty: float | None = None
    """Uncertainty of that peak, as a share, by the calibration; None where it was measured for this process alone."""
    calibrated_at: datetime | None = None
    declared: bool
    """Whether the problem's file declares the work; otherwise it is all inputs and parameters, and PyTorch's count of operations."""

    def share(self, took_ms: float) -> float:
        """The share of the speed of light that a call of this time reaches."""
        return self.light_ms / took_ms


class DeviceState(Record):
    """The device's own figures at one moment."""

    stage: str
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    throttled: str | None = None
    """Why the clock is not higher, in the driver's words, separated by commas; empty where there is no reason, None where it is unknown."""
    other_processes: int | None = None
    """Processes on the device that belong to no judge on this machine; None where this is unknown."""
    at_s: float | None = None
    """Seconds since the timing began."""


CROWDED_SHARE = 0.1
"""The share of a timing that the judge may wait for a CPU. With as many busy threads as CPUs each waits for about 5 %, with twice as many
for half."""


class ConditionsEvidence(Record):
    """The device's state during the timing that counts, by `Evidence.device_states` and the driver's own counters."""

    shared: bool | None = None
    """Whether other processes used it; None where this is unknown."""
    throttled: str | None = None
    """Why the clock was lowered (heat, power supply, a fault), separated by commas; None where this is unknown."""
    crowded: float | None = None
    """The share of the time that the judge, or the baseline's worker, waited for a CPU; None where this is unknown."""
    repeated: bool = False
    """Whether it was timed again because the device was shared or throttled at first."""
    first_runtime_ms: float | None = None
    first_baseline_ms: float | None = None
    """The figures of that first timing."""

    @property
    def disturbed(self) -> bool:
        """Whether the device was shared or throttled."""
        return bool(self.shared or self.throttled)

    @property
    def others_in_clock(self) -> bool:
        """Whether other work, on the device or on the CPUs, is in the judge's clock, so that the clock must not disqualify."""
        return bool(self.shared) or self.is_crowded

    @property
    def is_crowded(self) -> bool:
        """Whether there were too few CPUs for the judge and the baseline."""
        return (self.crowded or 0.0) > CROWDED_SHARE

    @property
    def remark(self) -> str:
        """What disturbed the times, in words; empty where nothing did."""
        causes = [
            *(["others' processes were on the device"] if self.shared else []),
            *([f"its clock was lowered ({self.throttled})"] if self.throttled else []),
            *([f"there were too few processors ({self.crowded:.0%} of the time)"] if self.is_crowded else []),
        ]
        again = ", in a second timing too" if self.repeated else ""
        return " and ".join(causes) + again if causes else ""


class StarvingEvidence(Record):
    """Device memory that the submission's processes held when there was too little left for the judge."""

    held_bytes: int
    total_bytes: int
    """Of the device."""
