"""What is seen of the devices from outside while a run goes on: how busy the driver says they are, and whether a judge holds them."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluator.machine.devices import Device

UTILIZATION_EVERY_S = 0.5
"""As `nvidia-smi --query-gpu=utilization.gpu -lms 500` asks."""
HOLDERS_EVERY_S = 0.05
LOCKS = Path("/proc/locks")

Sample = tuple[float, float]
"""Seconds since 1970, and a figure: per cent of utilization of one device, or the share of the devices that are held."""


@dataclass
class DeviceWatch:
    """Notes samples from `start` to `stop`. Where the machine does not tell, there are none."""

    devices: Sequence[Device]
    lock_folder: Path
    """Where judges keep their lock files: the temporary folder."""
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
        # The driver answers with the share of its last sample period, a sixth of a second to a second long, in which a kernel ran.
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
    """How many of these lock files are locked, by the text of /proc/locks. A file may not be there yet."""
    inodes = {str(path.stat().st_ino) for path in files if path.exists()}
    # 1: FLOCK  ADVISORY  WRITE 17296 fe:00:2146322 0 EOF. Who waits for it has an arrow in front.
    fields = [line.split() for line in locks.splitlines() if "->" not in line]
    return len(inodes & {each[5].rsplit(":", 1)[-1] for each in fields if each[1] == "FLOCK"})


def _nvml() -> Any:
    """The module, ready; None where it can't be had."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml
