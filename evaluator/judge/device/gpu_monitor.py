"""Monitors a GPU during a timing: clocks, temperature, power, throttle reasons, and other processes on it.

The timing reads the state between two calls, never during one: an NVML query holds the driver's lock and Python's, some for milliseconds. A
polling thread would lengthen some calls. Between two readings the driver counts the time with a lowered clock.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from evaluator.judge import limits
from evaluator.judge.device.cpu_contention import CpuContention
from evaluator.judge.device.judging_processes import OtherProcesses
from evaluator.judge.device.nvml import LOWERED, Nvml, nvml_of
from evaluator.machine.devices import Device
from evaluator.results.evidence import ConditionsEvidence, DeviceState

LOOK_EVERY_S = 0.1
LOOK_SHARE = 0.05
"""Maximum share of the time for readings."""
MOST_LOOKS = 100
"""Maximum readings per timing; each is a row in the database."""


class GpuMonitor:
    """Reads the state of a device before, during and after one timing."""

    def __init__(self, nvml: Nvml | None, count_others: Callable[[list[int] | None], int | None] | None = None) -> None:
        """nvml: None if NVML is not available."""
        self._nvml, self._count_others = nvml, count_others or OtherProcesses().count
        self.states: list[DeviceState] = []
        self._name = ""
        self._start = self._next_look = time.monotonic()
        self._lowered_ms: dict[str, float] = {}
        self._took_ms = 0.0
        self._crowded: float | None = None

    @contextmanager
    def timing(self, name: str, workers: Iterable[int] = ()) -> Iterator[None]:
        """Read the state before and after the timing `name`. `workers` are processes that should have a CPU core all the time."""
        self._start = self._next_look = time.monotonic()
        self._name = name
        before_ms = self._nvml.lowered_ms() if self._nvml else {}
        self._read(f"before {name}")
        crowding = CpuContention(workers)
        try:
            yield
        finally:
            self._crowded = crowding.share()
            self._read(f"after {name}")
            self._took_ms = (time.monotonic() - self._start) * 1e3
            now_ms = self._nvml.lowered_ms() if self._nvml else {}
            self._lowered_ms = {reason: now_ms[reason] - before_ms[reason] for reason in now_ms.keys() & before_ms.keys()}

    def look(self) -> None:
        """Read the state if the limits above allow it. Call it while nothing is timed."""
        if time.monotonic() >= self._next_look and len(self.states) <= MOST_LOOKS:
            self._read(self._name)

    def conditions(self) -> ConditionsEvidence:
        """The conditions, from the readings and the counters."""
        counts = [state.other_processes for state in self.states]
        told = [state.throttled for state in self.states if state.throttled is not None]
        seen = {reason for state in told for reason in state.split(", ") if reason in LOWERED}
        seen |= {reason for reason, ms in self._lowered_ms.items() if ms > limits.LOWERED_SHARE * self._took_ms}
        return ConditionsEvidence(
            shared=True if any(counts) else None if not counts or None in counts else False,
            throttled=", ".join(reason for reason in LOWERED if reason in seen) if told or self._lowered_ms else None,
            crowded=self._crowded,
        )

    def _read(self, stage: str) -> None:
        if self._nvml is None:
            return
        start = time.monotonic()
        found = self._count_others(self._nvml.processes())
        self.states.append(self._nvml.state(stage, round(start - self._start, 6), found))
        end = time.monotonic()
        self._next_look = end + max(LOOK_EVERY_S, (end - start) / LOOK_SHARE)


def watch_of(device: Device) -> GpuMonitor | None:
    """The monitor of this GPU; None for the CPU."""
    return GpuMonitor(nvml_of(device.unique_id)) if device.kind == "cuda" else None
