"""NVML without a GPU: the functions of pynvml that the judge calls, with a test's answers."""

# ruff: noqa: ARG002, N802 - names and arguments are NVML's
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

UUID = "GPU-stand-in"


class StandIn:
    """The module. `refused` names functions that raise; `reasons` and `lowered_ns` are asked for each time."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU, NVML_PERF_POLICY_THERMAL = 1, 2, 0, 1

    class NVMLError(Exception):
        pass

    def __init__(
        self,
        pids: Callable[[], list[int]] = list,
        reasons: Callable[[], int] = int,
        lowered_ns: Callable[[], dict[int, int]] = dict,
        refused: frozenset[str] = frozenset(),
    ) -> None:
        self._pids, self._reasons, self._lowered_ns, self._refused = pids, reasons, lowered_ns, refused
        self.asked: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("nvml"):
            self.asked.append(name)
            if name in self._refused:
                raise self.NVMLError("not supported")
        return super().__getattribute__(name)

    def nvmlInit(self) -> None:
        pass

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid != UUID:
            raise self.NVMLError("not found")
        return uuid

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        return {self.NVML_CLOCK_SM: 1980, self.NVML_CLOCK_MEM: 3201}[kind]

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:
        return 41

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 123_500

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        return SimpleNamespace(gpu=64, memory=3)

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: str) -> int:
        return self._reasons()

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[Any]:
        return [SimpleNamespace(pid=pid) for pid in self._pids()]

    def nvmlDeviceGetFieldValues(self, handle: str, fields: list[int]) -> list[Any]:
        counted = self._lowered_ns()
        values = ((counted.get(field, 0), 0 if field in counted else 3) for field in fields)
        return [SimpleNamespace(value=SimpleNamespace(ullVal=value), nvmlReturn=code) for value, code in values]

    def nvmlDeviceGetViolationStatus(self, handle: str, policy: int) -> Any:
        return SimpleNamespace(violationTime=7_000_000)
