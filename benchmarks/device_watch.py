"""Watches the devices from outside during a run: the driver's utilization, and whether a judge holds their locks."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluator.machine.devices import Device

UTILIZATION_EVERY_S = 0.5
"""Seconds between samples, as with `nvidia-smi --query-gpu=utilization.gpu -lms 500`."""
HOLDERS_EVERY_S = 0.05
LOCKS = Path("/proc/locks")

Sample = tuple[float, float]
"""Seconds since 1970, and a figure: one device's utilization in per cent, or the share of held devices."""


@dataclass
class DeviceWatch:
    """Takes samples from `start` to `stop`; none if the machine does not report them."""

    devices: Sequence[Device]
    lock_folder: Path
    """Folder of the judges' lock files: the temporary folder."""
    utilization: list[Sample] = field(default_factory=list)
    held: list[Sample] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        self._threads = [threading.Thread(target=watch, daemon=True) for watch in (self._watch_utilization, self._watch_holders)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _watch_utilization(self) -> None:
        # The driver's figure: the share of its last sample period (1/6 to 1 s) in which a kernel ran.
        nvml = _nvml() if any(device.kind == "cuda" for device in self.devices) else None
        if nvml is None:
            return
        handles = [nvml.nvmlDeviceGetHandleByUUID(device.unique_id) for device in self.devices]
        while not self._over.wait(UTILIZATION_EVERY_S):
            self.utilization += [(time.time(), float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)) for handle in handles]

    def _watch_holders(self) -> None:
        files = [self.lock_folder / f"assay-{device.unique_id}.lock" for device in self.devices]
        while LOCKS.exists() and not self._over.wait(HOLDERS_EVERY_S):
            self.held.append((time.time(), held_count(LOCKS.read_text(encoding="utf-8"), files) / len(files)))


def held_count(locks: str, files: Sequence[Path]) -> int:
    """Number of locked lock files, from the text of /proc/locks. A file may not exist yet."""
    inodes = {str(path.stat().st_ino) for path in files if path.exists()}
    # 1: FLOCK  ADVISORY  WRITE 17296 fe:00:2146322 0 EOF. A waiting process has an arrow in front.
    fields = [line.split() for line in locks.splitlines() if "->" not in line]
    return len(inodes & {each[5].rsplit(":", 1)[-1] for each in fields if each[1] == "FLOCK"})


def _nvml() -> Any:
    """The initialized module; None if not available."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml
