"""The minimum time of a call: a lower bound from the device's measured bandwidth and arithmetic. A time below it is impossible.

    minimum time = max(bytes / bandwidth, operations / rate) / PEAK_MARGIN

The bytes are those of the output, which must be written, and of the inputs and parameters that the problem declares to be needed
(`evaluator.problem.declaration.Floor`). The size of the L2 cache is subtracted from the bytes read and from those written: inputs may be in
it before the call, and outputs may still be in it when the call ends.

The bandwidth is that of copying. The rate is that of 16-bit matrix products, the highest of a general device: a float32 product needs at
least three of them to be precise enough. Both come from the device's calibration (`evaluator.results.calibration`), and its uncertainty
widens the margin. Without a calibration, they are the highest that a judge of the machine has measured. Before the judge calls a time
impossible, it measures both again, after it has killed the submission's worker.
"""

import logging
from typing import NamedTuple

import torch

from evaluator.judge import limits
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.roofline.demand import Demand, known_demand
from evaluator.judge.roofline.peaks import Peak, cache_bytes, peak_of
from evaluator.problem.problem import ProblemCase
from evaluator.results.calibration import COPY, Calibration
from evaluator.results.evidence import FloorEvidence

RATED = ("bfloat16", "float16")

log = logging.getLogger(__name__)


class FloorPeaks(NamedTuple):
    """The peaks that bound a time from below."""

    copies: Peak
    products: Peak
    """The faster 16-bit format's."""


def floor_peaks(device: torch.device, calibration: Calibration | None = None, *, again: bool = False) -> FloorPeaks:
    """These peaks of a CUDA device, found as `peak_of` does. Raises RuntimeError if there are none, and torch.OutOfMemoryError."""
    copies, *rated = (peak_of(name, device, calibration, again=again) for name in (COPY, *RATED))
    products = [peak for peak in rated if peak is not None]
    if copies is None or not products:
        raise RuntimeError(f"neither copies nor matrix products run on {device}")
    return FloorPeaks(copies, max(products, key=lambda peak: peak.per_s))


def minimum_time_of(demand: Demand, peaks: FloorPeaks, l2_bytes: int) -> FloorEvidence:
    """The minimum time of this demand on a device with these peaks and this cache."""
    # A submission may leave out what the problem does not declare, except for writing the output.
    read_bytes, operations = (demand.read_bytes, demand.operations) if demand.declared else (0, 0.0)
    moved_bytes = max(read_bytes - l2_bytes, 0) + max(demand.written_bytes - l2_bytes, 0)
    seconds = max(moved_bytes / peaks.copies.per_s, operations / peaks.products.per_s)
    margin = limits.PEAK_MARGIN * (1 + max(peak.uncertainty or 0.0 for peak in peaks))
    return FloorEvidence(
        read_bytes=read_bytes,
        written_bytes=demand.written_bytes,
        l2_bytes=l2_bytes,
        moved_bytes=moved_bytes,
        operations=operations,
        bytes_per_s=peaks.copies.per_s,
        operations_per_s=peaks.products.per_s,
        margin=margin,
        floor_ms=seconds / margin * 1e3,
        declared=demand.declared,
    )


def find_minimum_time(
    case: ProblemCase,
    model: torch.nn.Module,
    oracle: Oracle,
    device: torch.device,
    calibration: Calibration | None = None,
    runtime_ms: float | None = None,
) -> FloorEvidence | None:
    """The minimum time of this problem on this device; None on the CPU, where the judge itself measures the time.

    Call it under the device's lock, when no submission is running. It measures the device if its rates are unknown, or if `runtime_ms` is
    below the minimum from the known rates, which may have been measured when the device was slower. Raises ProblemError if the
    declaration is impossible, ReferenceFailedError, and torch.OutOfMemoryError.
    """
    if device.type != "cuda":
        return None
    demand, l2_bytes = known_demand(case, model, oracle, device), cache_bytes(device)
    known = floor_peaks(device, calibration)
    floor = minimum_time_of(demand, known, l2_bytes)
    if runtime_ms is None or runtime_ms >= floor.floor_ms:
        return floor
    log.info("the device is measured again: %.4g ms is below the minimum time of %.4g ms", runtime_ms, floor.floor_ms)
    measured = floor_peaks(device, again=True)
    return minimum_time_of(demand, FloorPeaks(*map(higher, known, measured)), l2_bytes)


def higher(known: Peak, measured: Peak) -> Peak:
    """The higher rate, with the known one's uncertainty."""
    return Peak(max(known.per_s, measured.per_s), known.uncertainty)
