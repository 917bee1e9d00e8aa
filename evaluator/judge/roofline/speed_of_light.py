"""The speed of light: the time of a call that does what the problem asks for and no more, as fast as the device has been measured to.

    light = max(bytes / bandwidth, operations / rate)

Bytes are those of the inputs and parameters, read once, and of the answer, written once; operations are what PyTorch counts of matrix
products, convolutions and attention (torch.utils.flop_counter) in the reference. A problem that declares its floor says both itself. The
bandwidth is that of copying, the rate that of matrix products in the problem's own precision.

It is a scale to read times by and decides nothing: a verdict needs the floor (evaluator.judge.roofline.minimum_time), which leaves out what a clever answer
may do without, and has a margin. So a time may be beyond the speed of light, as where a part of the answer has not left the cache when the
call ends, or where an algorithm does with fewer operations than the reference.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from evaluator.judge.correctness.reference import Oracle, ReferenceFailedError
from evaluator.judge.roofline.minimum_time import work_of
from evaluator.judge.roofline.peaks import SPEEDOMETER, cache_bytes, formats
from evaluator.judge.workers.input_buffers import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.results.calibration import COPY, Calibration
from evaluator.results.evidence import LightEvidence
from evaluator.worker.structure import dtype_name, tensors_of

WAYS: dict[str, tuple[tuple[str, int], ...]] = {"float32": (("float32", 1), ("tf32", 3))}
"""Precision → formats whose products can make one of it, and how many that takes; where it is not named, one of its own. Three products
in TF32 give one that is as precise as float32's (Ootomo and Yokota, 2022, "Recovering single precision accuracy from Tensor Cores while
surpassing the FP32 theoretical peak performance"; CUTLASS has it as 3xTF32)."""
OWN = "float32"
"""The precision of an answer without floating-point numbers, of inputs that have none either."""

log = logging.getLogger(__name__)

Ceiling = Callable[[str], "Reached | None"]


@dataclass(frozen=True)
class Reached:
    """A ceiling, by calibration or by measuring now."""

    per_s: float
    uncertainty: float | None = None


@dataclass(frozen=True)
class Demand:
    """What a problem asks of a call."""

    read_bytes: int
    written_bytes: int
    operations: float
    precision: str
    declared: bool


def find_light(
    case: ProblemCase, model: torch.nn.Module, oracle: Oracle, device: torch.device, calibration: Calibration | None = None
) -> LightEvidence | None:
    """The speed of light of this problem on this device; None where it asks for nothing that takes time.

    To be called under the device's lock, when no submission is running. What it takes and the calibration does not have is measured, once
    in a process. Raises ProblemError where the declaration does not fit, ReferenceFailedError, and torch.OutOfMemoryError.
    """
    demand = demand_of(case, model, oracle, case.inputs(fresh_seed(), device))
    # The flush leaves nothing of the inputs in a GPU's cache; into a processor's they have just been copied.
    spared = 0 if device.type == "cuda" else cache_bytes(device)
    return light_evidence(demand, spared, _ceilings(calibration, device), calibration)


def demand_of(case: ProblemCase, model: torch.nn.Module, oracle: Oracle, arguments: Sequence[Any]) -> Demand:
    """What a call with these arguments asks for. Raises ProblemError, ReferenceFailedError, torch.OutOfMemoryError."""
    expected = oracle.expected(list(arguments))
    work = work_of(case, model, arguments, expected)
    given = [tensor for _, tensor in tensors_of(list(arguments))]
    precision = _precision([*(tensor for _, tensor in tensors_of(expected)), *given])
    del expected  # its memory is room for the next answer
    if work.declared:
        return Demand(work.read_bytes, work.written_bytes, work.operations, precision, declared=True)
    read_bytes = sum(tensor.nbytes for tensor in (*given, *model.parameters()))
    return Demand(read_bytes, work.written_bytes, _counted(oracle, arguments), precision, declared=False)


def light_evidence(demand: Demand, spared_bytes: int, ceiling: Ceiling, calibration: Calibration | None = None) -> LightEvidence | None:
    """The light of this demand under these ceilings, `spared_bytes` of what is read and as many of what is written not counted."""
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


def _fastest(precision: str, ceiling: Ceiling) -> tuple[str, Reached | None]:
    """The fastest way to products of this precision, and how many it makes in a second."""
    found: tuple[str, Reached | None] = ("", None)
    for name, products in WAYS.get(precision, ((precision, 1),)):
        reached = ceiling(name)
        if reached is None:
            continue
        per_s = reached.per_s / products
        if found[1] is None or per_s > found[1].per_s:
            found = (name if products == 1 else f"{products} × {name}", Reached(per_s, reached.uncertainty))
    return found


def _ceilings(calibration: Calibration | None, device: torch.device) -> Ceiling:
    def ceiling(name: str) -> Reached | None:
        known = calibration.ceiling(name) if calibration else None
        if known is not None:
            return Reached(known.per_s, known.uncertainty)
        per_s = SPEEDOMETER.recall(name, device) if name == COPY or name in formats(device) else None
        return None if per_s is None else Reached(per_s)

    return ceiling


def _precision(tensors: Sequence[torch.Tensor]) -> str:
    """Name of the first floating-point type of these, the answer's before the inputs'."""
    found = next((tensor.dtype for tensor in tensors if tensor.dtype.is_floating_point or tensor.dtype.is_complex), None)
    if found is None:
        return OWN
    return dtype_name(found.to_real() if found.is_complex else found)


def _counted(oracle: Oracle, arguments: Sequence[Any]) -> float:
    """Operations of the reference as PyTorch counts them; none where it can't."""
    with FlopCounterMode(display=False) as counter:
        try:
            oracle.expected(list(arguments))
        except ReferenceFailedError as error:  # it has just run without the counter
            log.info("the operations of the reference can't be counted: %s", error)
            return 0.0
    return float(counter.get_total_flops())
