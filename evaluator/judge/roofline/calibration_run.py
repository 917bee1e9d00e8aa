"""Calibration: measures a device's highest rates, while no submission computes on it.

All ceilings are measured several times in turns, so that a period of a slower clock affects all of them.
"""

import time

import torch

from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.device.environment import apply_settings, gpu_driver
from evaluator.judge.device.gpu_monitor import GpuMonitor, watch_of
from evaluator.judge.roofline.peaks import formats, measure
from evaluator.machine.devices import Device, cpu_count
from evaluator.results.calibration import COPY, Calibration, Ceiling
from evaluator.results.display.pace import Tell, untold
from evaluator.results.evidence import ConditionsEvidence
from evaluator.results.result import now

REPETITIONS = 5
LEAST_REPETITIONS = 2
ENOUGH_S = 1.5
"""After LEAST_REPETITIONS, no further one begins after this time, which includes the warm-up."""
ATTEMPTS = 2


def steps(device: Device) -> int:
    """Minimum number of measurements that `calibrate` reports to `tell`."""
    return (LEAST_REPETITIONS + 1) * (1 + len(formats(torch.device(device.spec))))


def calibrate(device: Device, tell: Tell = untold) -> tuple[Calibration, ConditionsEvidence | None]:
    """Measure a device while no submission computes on it, and again if it was shared or throttled. Returns the device's state too.

    On a large GPU it takes about ENOUGH_S plus the time to load libraries. Raises torch.OutOfMemoryError.
    """
    apply_settings()
    if device.kind == "cpu":
        torch.set_num_threads(cpu_count())
    lock = DeviceLock(device.unique_id)
    try:
        lock.acquire_exclusive()
        for attempt in range(1, ATTEMPTS + 1):
            measured_at, (ceilings, repetitions), conditions = now(), *_watched(device, tell)
            if conditions is None or not conditions.disturbed:
                break
            conditions = conditions.model_copy(update={"repeated": attempt == ATTEMPTS})
    finally:
        lock.close()
    calibration = Calibration(
        device_id=device.unique_id,
        device_name=device.name,
        driver=gpu_driver() if device.kind == "cuda" else None,
        torch=torch.__version__,
        measured_at=measured_at,
        repetitions=repetitions,
        ceilings=ceilings,
    )
    return calibration, conditions


def _watched(device: Device, tell: Tell) -> tuple[tuple[tuple[Ceiling, ...], int], ConditionsEvidence | None]:
    target = torch.device(device.spec)
    watch = watch_of(device)
    if watch is None:
        return _measured(target, None, tell), None
    torch.zeros(1, device=target)  # makes a context, so that this process is on the device's list of processes
    with watch.timing("calibration"):
        measured = _measured(target, watch, tell)
    return measured, watch.conditions()


def _measured(device: torch.device, watch: GpuMonitor | None, tell: Tell) -> tuple[tuple[Ceiling, ...], int]:
    """All ceilings of the device, and the number of measurements of each."""
    names = [COPY, *formats(device)]
    found: dict[str, list[float]] = {name: [] for name in names}
    start = time.monotonic()
    for repetition in range(REPETITIONS + 1):
        if repetition > LEAST_REPETITIONS and time.monotonic() - start > ENOUGH_S:
            break
        for name in list(found):
            per_s = measure(name, device)
            tell(1)
            if per_s is None:
                del found[name]
            elif repetition:  # the first one loads libraries, and raises the clock
                found[name].append(per_s)
            if watch is not None:
                watch.look()
    ceilings = tuple(Ceiling(name=name, per_s=max(rates), uncertainty=1 - min(rates) / max(rates)) for name, rates in found.items())
    return ceilings, len(found[COPY])
