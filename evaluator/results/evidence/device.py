"""What the device can do, and how it was while calls were timed."""

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
    """Size of the device's L2 cache: so much of either need not move."""
    moved_bytes: int
    """What is left of both."""
    operations: float
    bytes_per_s: float
    """The device's bandwidth, measured."""
    operations_per_s: float
    """The device's rate of arithmetic, measured."""
    margin: float
    """How much faster than measured the device is taken to be."""
    floor_ms: float
    declared: bool
    """Whether the problem's file says what is needed; otherwise the answer's bytes alone are counted."""


class LightEvidence(Record):
    """The speed of light: the time of a call that does what the problem asks for, and all of it as fast as the device has been measured to
    (evaluator.judge.roofline.speed_of_light). A scale, which no verdict rests on."""

    read_bytes: int
    """Of inputs and parameters."""
    written_bytes: int
    """Of the answer."""
    moved_bytes: int
    """Of both, what no cache has anyway."""
    operations: float
    arithmetic: str = ""
    """The format of the products that `operations_per_s` stands for, and how many of them make one; empty without operations."""
    bytes_per_s: float | None = None
    operations_per_s: float | None = None
    """The device's ceilings; None where nothing is held against it."""
    light_ms: float
    bound: Literal["memory", "arithmetic"]
    """Which of both takes longer."""
    uncertainty: float | None = None
    """Of that ceiling, as a share, by its calibration; None where it was measured for this process once."""
    calibrated_at: datetime | None = None
    declared: bool
    """Whether the problem's file says what is needed; otherwise all inputs and parameters are, and PyTorch's count of operations."""

    def share(self, took_ms: float) -> float:
        """What share of the speed of light a call has that takes so long."""
        return self.light_ms / took_ms


class DeviceState(Record):
    """What the device said of itself at one moment."""

    stage: str
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    throttled: str | None = None
    """Reasons for which the clock is not higher, as the driver names them, separated by commas; empty where there is none, None where that
    is not told."""
    other_processes: int | None = None
    """Processes on the device that belong to no judge of the machine; None where that can't be told."""
    at_s: float | None = None
    """Seconds since the timing began."""


CROWDED_SHARE = 0.1
"""Of a timing, what who needs a processor all the time may wait for one: as many threads as processors make each wait for some 5 % of it,
two for each processor for half."""


class ConditionsEvidence(Record):
    """How the device was while the timing ran that counts, by `Evidence.device_states` and the driver's own counters."""

    shared: bool | None = None
    """Whether processes of others were on it; None where that can't be told."""
    throttled: str | None = None
    """Reasons of heat, of power supply or of a fault for which the clock was lowered, separated by commas; None where that is not told."""
    crowded: float | None = None
    """Of the time, how much the judge, or the baseline's worker, waited for a processor that others had; None where that is not told."""
    repeated: bool = False
    """Whether it was timed once more, because the first timing found it shared or throttled."""
    first_runtime_ms: float | None = None
    first_baseline_ms: float | None = None
    """What that first timing came to."""

    @property
    def disturbed(self) -> bool:
        """Whether the times are those of a device that was shared or throttled."""
        return bool(self.shared or self.throttled)

    @property
    def others_in_clock(self) -> bool:
        """Whether what others do, on the device or on the processors, is in the judge's clock to an extent that accuses nobody."""
        return bool(self.shared) or self.is_crowded

    @property
    def is_crowded(self) -> bool:
        """Whether there were too few processors for the judge and the baseline."""
        return (self.crowded or 0.0) > CROWDED_SHARE

    @property
    def remark(self) -> str:
        """What to know of the times, in words; empty where they were taken undisturbed."""
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
