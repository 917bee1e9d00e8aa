"""Reads the state of one GPU through NVML (nvidia-ml-py). It never changes a setting.

If NVML is missing or refuses, which happens in virtual machines and containers, values are None: unknown. It never makes a judge fail.
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
"""nvmlClocksEventReasons (nvml.h) by bit, without the first, which means idle."""
LOWERED = ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
"""Reasons that mean a disturbance: heat, the power supply, or a fault. The power cap is normal under heavy load, and settings of clocks are
deliberate: with either, repeated timings agree."""
COUNTED = {269: "sw_thermal_slowdown", 270: "hw_thermal_slowdown", 271: "hw_power_brake_slowdown"}
"""Fields that count the nanoseconds with a lowered clock (nvml.h, NVML_FI_DEV_CLOCKS_EVENT_REASON_*)."""
THERMAL = "sw_thermal_slowdown"
"""The reason under which an older driver's single counter for heat is stored."""

Figure = TypeVar("Figure")

log = logging.getLogger(__name__)


class Nvml:
    """One GPU in NVML."""

    def __init__(self, library: Any, handle: Any) -> None:
        """`library` is the module pynvml, or a stand-in with its functions."""
        self._library, self._handle = library, handle
        # An older module lacks functions. For a newer one, the driver's library may be too old.
        self._refusals = (library.NVMLError, getattr(library, "NVMLLibraryMismatchError", library.NVMLError), AttributeError)

    @classmethod
    def open(cls, unique_id: str, library: Any) -> Self | None:
        """The GPU with that UUID; None if NVML has none, or is not available."""
        try:
            library.nvmlInit()
            return cls(library, library.nvmlDeviceGetHandleByUUID(unique_id))
        except library.NVMLError as error:
            log.info("NVML has no data on %s: %s", unique_id, error)
            return None

    def state(self, stage: str, at_s: float, other_processes: int | None) -> DeviceState:
        """The current clocks, temperature, power and throttle reasons."""
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
        """Processes with a context on the GPU, by the driver's ids."""
        listed = self._asked(lambda: list(self._library.nvmlDeviceGetComputeRunningProcesses(self._handle)))
        return None if listed is None else [int(each.pid) for each in listed]

    def utilization(self) -> float | None:
        """The share of the driver's last sample period, of up to a second, in which a kernel ran."""
        rates = self._asked(lambda: self._library.nvmlDeviceGetUtilizationRates(self._handle))
        return None if rates is None else rates.gpu / 100

    def lowered_ms(self) -> dict[str, float]:
        """Time with a lowered clock so far, by reason, for the reasons that the driver counts."""
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
            log.debug("NVML has no data: %s", error)
            return None


@cache
def nvml_of(unique_id: str) -> Nvml | None:
    """The GPU with that UUID; None without NVML or its Python package. Opened once per process, and left open."""
    try:
        import pynvml
    except ImportError:
        log.info("nvidia-ml-py is not installed: the state of the device is not known")
        return None
    return Nvml.open(unique_id, pynvml)
