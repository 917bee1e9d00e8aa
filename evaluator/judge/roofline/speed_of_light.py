"""The speed-of-light time: the time of a call that does exactly the problem's work at the device's measured peaks.

    speed-of-light time = max(bytes / bandwidth, operations / rate)

The bytes are those of the inputs and parameters, read once, and of the output, written once. The operations are those that PyTorch counts
in the reference: matrix products, convolutions and attention (`torch.utils.flop_counter`). A problem that declares its floor gives both
itself. The bandwidth is that of copying, the rate that of matrix products in the problem's own precision.

It is a scale for times, and decides no verdict. Verdicts use the minimum time (`evaluator.judge.roofline.minimum_time`), which leaves out
work that a clever submission may skip, and has a margin. So a time may be below the speed-of-light time, for example if part of the output
is still in the cache when the call ends, or if an algorithm needs fewer operations than the reference.
"""

from collections.abc import Callable

import torch

from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.roofline.demand import Demand, known_demand
from evaluator.judge.roofline.peaks import Peak, cache_bytes, peak_of
from evaluator.problem.problem import ProblemCase
from evaluator.results.calibration import COPY, Calibration
from evaluator.results.evidence import LightEvidence

WAYS: dict[str, tuple[tuple[str, int], ...]] = {"float32": (("float32", 1), ("tf32", 3))}
"""Precision → formats with products that can replace one of it, and how many are needed; other precisions use one product of their own.
Three products in TF32 are as precise as one in float32 (Ootomo and Yokota, 2022, "Recovering single precision accuracy from Tensor Cores
while surpassing the FP32 theoretical peak performance"; CUTLASS has it as 3xTF32)."""
PeakLookup = Callable[[str], Peak | None]


def find_speed_of_light(
    case: ProblemCase, model: torch.nn.Module, oracle: Oracle, device: torch.device, calibration: Calibration | None = None
) -> LightEvidence | None:
    """The speed-of-light time of this problem on this device; None if the problem requires no bytes or operations.

    Call it under the device's lock, when no submission is running. Peaks that are missing in the calibration are measured, and kept.
    Raises ProblemError if the declaration is impossible, ReferenceFailedError, and torch.OutOfMemoryError.
    """
    demand = known_demand(case, model, oracle, device)
    # A GPU's cache holds no inputs after the flush. A CPU's does, since they have just been copied.
    spared = 0 if device.type == "cuda" else cache_bytes(device)
    return speed_of_light_of(demand, spared, lambda name: peak_of(name, device, calibration), calibration)


def speed_of_light_of(
    demand: Demand, spared_bytes: int, ceiling: PeakLookup, calibration: Calibration | None = None
) -> LightEvidence | None:
    """The speed-of-light time of this demand at these peaks. `spared_bytes` are subtracted from the bytes read and from those written."""
    moved_bytes = max(demand.read_bytes - spared_bytes, 0) + max(demand.written_bytes - spared_bytes, 0)
    copied = ceiling(COPY) if moved_bytes else None
    way, rate = _fastest(demand.precision, ceiling) if demand.operations else ("", None)
    moving_s = moved_bytes / copied.per_s if copied else 0.0
    computing_s = demand.operations / rate.per_s if rate else 0.0
    if not max(moving_s, computing_s):
        return None
    bound = copied if moving_s >= computing_s else rate
    assert bound is not None
    return LightEvidence(
        read_bytes=demand.read_bytes,
        written_bytes=demand.written_bytes,
        moved_bytes=moved_bytes,
        operations=demand.operations,
        arithmetic=way,
        bytes_per_s=copied.per_s if copied else None,
        operations_per_s=rate.per_s if rate else None,
        light_ms=max(moving_s, computing_s) * 1e3,
        bound="memory" if moving_s >= computing_s else "arithmetic",
        uncertainty=bound.uncertainty,
        calibrated_at=calibration.measured_at if calibration and bound.uncertainty is not None else None,
        declared=demand.declared,
    )


def _fastest(precision: str, ceiling: PeakLookup) -> tuple[str, Peak | None]:
    """The fastest method for products of this precision, and its products per second."""
    found: tuple[str, Peak | None] = ("", None)
    for name, products in WAYS.get(precision, ((precision, 1),)):
        reached = ceiling(name)
        if reached is None:
            continue
        per_s = reached.per_s / products
        if found[1] is None or per_s > found[1].per_s:
            found = (name if products == 1 else f"{products} × {name}", Peak(per_s, reached.uncertainty))
    return found
