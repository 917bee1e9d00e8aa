"""What the driver says of one GPU, through NVML (nvidia-ml-py). It is only asked, and nothing of the card is ever set.

Where NVML is missing, or refuses, as it may in virtual machines and containers, the answer is None: not known. It never fails a judge.
"""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, Self, TypeVar

from evaluator.results.evidence import DeviceState

REASONS = {
    0x02: "applications_clocks_setting",
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
"""nvmlClocksEventReasons (nvml.h) by bit; without the first, which says that nothing runs."""
LOWERED = ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
"""Those that something is wrong with: heat, the power supply, or a fault. The power cap is how a card always runs under a load that takes
much, settings of clocks are somebody's will, and for either a time is as good as the next one."""
COUNTED = {269: "sw_thermal_slowdown", 270: "hw_thermal_slowdown", 271: "hw_power_brake_slowdown"}
"""Fields that count the nanoseconds for which the clock was lowered (nvml.h, NVML_FI_DEV_CLOCKS_EVENT_REASON_*)."""
THERMAL = "sw_thermal_slowdown"
"""What an older driver's one counter for heat is taken for."""

Figure = TypeVar("Figure")

log = logging.getLogger(__name__)


class Nvml:
    """One GPU, as NVML knows it."""

    def __init__(self, library: Any, handle: Any) -> None:
        """`library` is the module pynvml, or what has its functions."""
        self._library, self._handle = library, handle
        # An older module lacks functions, a newer one finds that the driver's library is too old for it.
        self._refusals = (library.NVMLError, getattr(library, "NVMLLibraryMismatchError", library.NVMLError), AttributeError)

    @classmethod
    def open(cls, unique_id: str, library: Any) -> Self | None:
        """The GPU with that UUID; None where NVML has none, or can't be had."""
        try:
            library.nvmlInit()
            return cls(library, library.nvmlDeviceGetHandleByUUID(unique_id))
        except library.NVMLError as error:
            log.info("NVML does not tell of %s: %s", unique_id, error)
            return None

    def state(self, stage: str, at_s: float, other_processes: int | None) -> DeviceState:
        """Clocks, temperature, power and reasons not to clock higher, now."""
        nvml, handle = self._library, self._handle
        milliwatts = self._asked(lambda: float(nvml.nvmlDeviceGetPowerUsage(handle)))
        reasons = self._asked(lambda: int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)))
        return DeviceState(
            stage=stage,
            at_s=at_s,
            sm_clock_mhz=self._asked(lambda: float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))),
            memory_clock_mhz=self._asked(lambda: float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM))),
            temperature_c=self._asked(lambda: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))),
            power_w=None if milliwatts is None else milliwatts / 1e3,
            throttled=None if reasons is None else ", ".join(name for bit, name in REASONS.items() if reasons & bit),
            other_processes=other_processes,
        )

    def processes(self) -> list[int] | None:
        """Processes with a context on the GPU, by what numbers ever the driver knows them."""
        listed = self._asked(lambda: list(self._library.nvmlDeviceGetComputeRunningProcesses(self._handle)))
        return None if listed is None else [int(each.pid) for each in listed]

    def lowered_ms(self) -> dict[str, float]:
        """For how long the clock has been lowered so far, by reason; of those reasons that the driver counts."""
        values = self._asked(lambda: list(self._library.nvmlDeviceGetFieldValues(self._handle, list(COUNTED)))) or []
        counted = {name: value.value.ullVal / 1e6 for name, value in zip(COUNTED.values(), values, strict=False) if value.nvmlReturn == 0}
        if counted:
            return counted
        nvml = self._library
        violation = self._asked(lambda: nvml.nvmlDeviceGetViolationStatus(self._handle, nvml.NVML_PERF_POLICY_THERMAL))
        return {} if violation is None else {THERMAL: violation.violationTime / 1e6}

    def _asked(self, ask: Callable[[], Figure]) -> Figure | None:
        try:
            return ask()
        except self._refusals as error:
            log.debug("NVML does not tell: %s", error)
            return None


@cache
def nvml_of(unique_id: str) -> Nvml | None:
    """The GPU with that UUID; None where NVML, or its Python package, can't be had. Opened once in a process, and left open."""
    try:
        import pynvml
    except ImportError:
        log.info("nvidia-ml-py is not installed: the state of the device is not known")
        return None
    return Nvml.open(unique_id, pynvml)
