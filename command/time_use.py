"""Where the time of a run went: how busy its devices were, and the mean seconds of an evaluation's parts."""

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from evaluator.judge.device.nvml import Nvml, nvml_of
from evaluator.machine.devices import Device
from evaluator.results.display.figures import about_text
from evaluator.results.result import Result

SAMPLE_S = 1.0
"""Seconds between two samples of the GPUs' utilization."""
WAITING = {"queue": "waiting to build", "place": "waiting for {}", "wait": "waiting for {}"}
"""What an evaluation does in the stages in which it waits; `{}` is the device."""
_SHOWN_S = 0.05
"""Parts of an evaluation that are shorter are not shown."""


class TimeUse:
    """Sums the times of the evaluations of a run."""

    def __init__(self, devices: Sequence[Device], clock: Callable[[], float] = time.monotonic) -> None:
        """clock: returns the time in seconds."""
        self._devices, self._clock = devices, clock
        self._device = "the GPU" if devices[0].kind == "cuda" else "the device"
        self._began_s = self._ended_s = clock()
        self._count, self._total_s, self._held_s = 0, 0.0, 0.0
        self._parts: defaultdict[str, float] = defaultdict(float)
        self._utilization: list[float] = []
        self._over = threading.Event()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """The run's judging: from here on, devices could be busy. A thread samples the utilization of the GPUs."""
        self._began_s = self._ended_s = self._clock()
        thread = threading.Thread(target=self._sample, daemon=True)
        if self._devices[0].kind == "cuda":
            thread.start()
        try:
            yield
        finally:
            self._over.set()

    def add(self, result: Result) -> None:
        """Count an evaluation that has just ended, unless no judge was asked."""
        stages_s, held_s = result.evidence.stages_s, result.evidence.held_s
        if not stages_s:
            return
        self._ended_s = self._clock()
        self._count += 1
        self._total_s += max(result.duration_s, sum(stages_s.values()))
        self._held_s += sum(held_s.values())
        for stage, seconds in stages_s.items():
            if part := "building" if stage == "build" else WAITING.get(stage):
                self._parts[part.format(self._device)] += seconds - held_s.get(stage, 0.0)

    def lines(self) -> list[str]:
        """How busy the devices were, and the mean of an evaluation. Empty if fewer than two had a judge."""
        passed_s = self._ended_s - self._began_s
        if self._count < 2 or passed_s <= 0:
            return []
        busy = f"{self._held_s / passed_s / len(self._devices):.0%} of {about_text(passed_s)}"
        ran = f"; kernels ran {sum(self._utilization) / len(self._utilization):.0%} of the time (NVML)" if self._utilization else ""
        each = f" (mean of {len(self._devices)})" if len(self._devices) > 1 else ""
        rest_s = self._total_s - self._held_s - sum(self._parts.values())
        parts = {**self._parts, f"alone on {self._device}": self._held_s, "else": rest_s}
        means = [f"{total_s / self._count:.1f} s {part}" for part, total_s in parts.items() if total_s / self._count >= _SHOWN_S]
        return [
            f"Evaluations had {self._device} alone {busy}{each}{ran}.",
            f"Mean time of an evaluation: {self._total_s / self._count:.1f} s: {', '.join(means)}.",
        ]

    def _sample(self) -> None:
        """Sample until the judging is over. Nothing is known of a GPU that NVML does not report."""
        known: list[Nvml] = [found for device in self._devices if (found := nvml_of(device.unique_id)) is not None]
        while len(known) == len(self._devices) and not self._over.wait(SAMPLE_S):
            self._utilization += [share for each in known if (share := each.utilization()) is not None]
