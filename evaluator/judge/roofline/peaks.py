"""Measures the highest rates of a device: copies that are larger than caches, and products of large square matrices of zeros.

Zeros take the least power, so the clock stays high: with other numbers a large GPU lowers it at its power limit. The best of all
measurements of a process counts, so a submission that slows the device down does not lower the peak for later ones.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch

from evaluator.judge.device.environment import gpu_driver
from evaluator.machine.devices import cpu_name
from evaluator.problem import kept_figures
from evaluator.results.calibration import COPY, Calibration

COPIES = 10
PRODUCTS = 4
"""Products per measurement, of which the fastest counts, after one to warm up."""
COPY_FACTOR = 8
"""A copy is this many times the last cache's size. The part that stays in the cache makes the peak a little too high."""
LEAST_COPY_BYTES = 1 << 28
PRODUCT_SIZE = 8192
SLOW_PRODUCT_SIZE = 4096
"""Matrix size for formats that are slow or unsupported on tensor cores: still eight waves of tiles on the largest GPU."""
HOST_PRODUCT_SIZE = 1024

SETTLED, SETTLING = 1.01, 10
"""The clock has settled when a further measurement is at most this factor better, or after this many measurements."""
HOST_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"K": 10, "M": 20}
"""Units of the sizes that Linux reports, as powers of two."""

log = logging.getLogger(__name__)


def formats(device: torch.device) -> tuple[str, ...]:
    """The number formats with products worth measuring on such a device. It need not support all of them."""
    if device.type == "cuda":
        return ("float64", "float32", "tf32", "float16", "bfloat16", "float8", "int8")
    return ("float64", "float32", "bfloat16")


def measure(name: str, device: torch.device) -> float | None:
    """Bytes (`copy`) or operations per second, measured now; None if the device does not support the format.

    Takes milliseconds on a large GPU. Raises torch.OutOfMemoryError.
    """
    return _copy_rate(device) if name == COPY else _product_rate(name, device)


def cache_bytes(device: torch.device) -> int:
    """Size of the last-level cache; 0 if unknown."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).L2_cache_size)
    sizes = [path.read_text().strip() for path in HOST_CACHES.glob("index*/size")]
    return max((int(size[:-1]) << UNITS[size[-1]] for size in sizes if size[:-1].isdigit() and size[-1] in UNITS), default=0)


def best_s(work: Callable[[], object], device: torch.device, times: int) -> float:
    """The shortest time of this work in seconds, among `times` runs after one to warm up."""
    with torch.no_grad():
        return _best_on_device_s(work, device, times) if device.type == "cuda" else _best_on_host_s(work, times)


def _best_on_device_s(work: Callable[[], object], device: torch.device, times: int) -> float:
    with torch.cuda.device(device):
        work()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(times + 1)]  # type: ignore[no-untyped-call]
        events[0].record()
        for event in events[1:]:
            work()
            event.record()
        torch.cuda.synchronize(device)
        return min(float(start.elapsed_time(end)) for start, end in pairwise(events)) / 1e3


def _best_on_host_s(work: Callable[[], object], times: int) -> float:
    work()
    moments = [time.perf_counter()]
    for _ in range(times):
        work()
        moments.append(time.perf_counter())
    return min(end - start for start, end in pairwise(moments))


def _copy_rate(device: torch.device) -> float:
    nbytes = max(COPY_FACTOR * cache_bytes(device), LEAST_COPY_BYTES)
    # Ones, since a host maps all unwritten pages to one page of zeros.
    source, target = (torch.ones(nbytes, dtype=torch.uint8, device=device) for _ in range(2))
    return 2 * nbytes / best_s(lambda: target.copy_(source), device, COPIES)


def _product_rate(name: str, device: torch.device) -> float | None:
    size = HOST_PRODUCT_SIZE
    if device.type == "cuda":
        size = SLOW_PRODUCT_SIZE if name in ("float64", "float32") else PRODUCT_SIZE
    try:
        with _tf32(name == "tf32"):
            return 2 * size**3 / best_s(_product(name, size, device), device, PRODUCTS)
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, NotImplementedError, AttributeError) as error:  # a format that this device or PyTorch does not support
        log.info("no products in %s on %s: %s", name, device, error)
        return None


def _product(name: str, size: int, device: torch.device) -> Callable[[], object]:
    """A function that multiplies two square matrices of zeros."""
    if name == "float8":
        left, right = (torch.zeros(size, size, device=device).to(torch.float8_e4m3fn) for _ in range(2))
        one = torch.ones((), device=device)
        return lambda: torch._scaled_mm(left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    dtype = torch.float32 if name == "tf32" else getattr(torch, name)
    left, right = (torch.zeros(size, size, dtype=dtype, device=device) for _ in range(2))
    if name == "int8":
        return lambda: torch._int_mm(left, right.t())
    product = torch.zeros_like(left)
    return lambda: torch.mm(left, right, out=product)


@contextmanager
def _tf32(wanted: bool) -> Iterator[None]:
    """Set whether float32 products may use TF32, in the body of `with`. The judge's own setting is no."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = wanted
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


class PeakMeter:
    """The highest rates that processes on this machine have measured, under this driver and PyTorch."""

    def __init__(self) -> None:
        self._best: dict[tuple[torch.device, str], float | None] = {}

    def measure(self, name: str, device: torch.device) -> float | None:
        """Measure again. Raises torch.OutOfMemoryError."""
        measured, before = measure(name, device), self._best.get((device, name))
        readings = [each for each in (measured, before, self._kept(name, device)) if each is not None]
        self._best[device, name] = max(readings, default=None)
        if measured is not None and before is not None:
            # The rate that two measurements reached: a single one that is too high must not count forever.
            kept_figures.write(_key(name, device), {"per_s": sorted(readings)[-2]})
        return self._best[device, name]

    def recall(self, name: str, device: torch.device) -> float | None:
        """The peak so far. If unknown, measure now, until the clock has settled. Raises torch.OutOfMemoryError."""
        known = (device, name)
        if known not in self._best and (kept := self._kept(name, device)) is not None:
            self._best[known] = kept
        if known not in self._best:
            before, best = 0.0, self.measure(name, device) or 0.0
            for _ in range(SETTLING):
                if best <= SETTLED * before:
                    break
                before, best = best, self.measure(name, device) or 0.0
        return self._best[known]

    @staticmethod
    def _kept(name: str, device: torch.device) -> float | None:
        found = kept_figures.read(_key(name, device))
        per_s = found.get("per_s") if found else None
        return per_s if isinstance(per_s, float) and per_s > 0 else None


def _key(name: str, device: torch.device) -> list[str]:
    if device.type == "cuda":
        which = [str(torch.cuda.get_device_properties(device).uuid), gpu_driver() or ""]
    else:
        which = [cpu_name(), str(torch.get_num_threads())]
    return ["peak", name, *which, torch.__version__]


PEAK_METER = PeakMeter()
"""This process's."""


@dataclass(frozen=True)
class Peak:
    """The highest rate of a device."""

    per_s: float
    uncertainty: float | None = None
    """The calibration's, as a share; None if a judge measured the rate."""


def peak_of(name: str, device: torch.device, calibration: Calibration | None = None, *, again: bool = False) -> Peak | None:
    """The peak in the calibration; else the highest that a judge of the machine has measured. None if the device lacks the format.

    A peak that is unknown is measured now. again: measure one that is not in the calibration again, in milliseconds on a large GPU. Raises
    torch.OutOfMemoryError.
    """
    ceiling = calibration.ceiling(name) if calibration else None
    if ceiling is not None:
        return Peak(ceiling.per_s, ceiling.uncertainty)
    find = PEAK_METER.measure if again else PEAK_METER.recall
    per_s = find(name, device) if name in (COPY, *formats(device)) else None
    return None if per_s is None else Peak(per_s)
