"""The minimum time of a call: a lower bound from the device's measured bandwidth and arithmetic. A time below it is impossible.

    minimum time = max(bytes / bandwidth, operations / rate) / PEAK_MARGIN

The bytes are those of the output, which must be written, and of the inputs and parameters that the problem declares to be needed
(`evaluator.problem.declaration.Floor`). The size of the L2 cache is subtracted from the bytes read and from those written: inputs may be in
it before the call, and outputs may still be in it when the call ends. An output that can be a view, of an input or of fewer elements,
counts only its distinct memory.

The bandwidth is that of copying. The rate is that of 16-bit matrix products, the highest of a general device: a float32 product needs at
least three of them to be precise enough. Both come from the device's calibration (`evaluator.results.calibration`), and its uncertainty
widens the margin. Without a calibration, they are the highest that a judge of the machine has measured. Before the judge calls a time
impossible, it measures both again, after it has killed the submission's worker.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from evaluator.judge import limits
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.roofline.peaks import PEAK_METER, cache_bytes
from evaluator.judge.workers.shared_memory import raw_bytes
from evaluator.problem import kept_figures
from evaluator.problem.declaration import Floor, numbers_in
from evaluator.problem.execute import ProblemError
from evaluator.problem.expression import value_of
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.results.calibration import COPY, Calibration
from evaluator.results.evidence import FloorEvidence
from evaluator.worker.nested import tensors_of

RATED = ("bfloat16", "float16")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RequiredWork:
    """The bytes and operations that every call needs."""

    read_bytes: int
    written_bytes: int
    operations: float
    declared: bool
    """Whether the problem's file declares them; if not, only the output's bytes count."""


@dataclass(frozen=True)
class DevicePeaks:
    """The highest rates of a device, and its cache."""

    bytes_per_s: float
    operations_per_s: float
    l2_bytes: int
    uncertainty: float = 0.0
    """The calibration's uncertainty, as a share; 0 if the rates were measured now."""


def required_work(case: ProblemCase, model: torch.nn.Module, arguments: Sequence[Any], expected: Any) -> RequiredWork:
    """The work of one call, from the problem's declaration and the output `expected` of the reference `model` for `arguments`.

    Raises ProblemError if the declaration names an argument, a parameter or an output tensor that does not exist.
    """
    declared = case.problem.declaration.floor
    floor = declared or Floor()
    parameters = dict(model.named_parameters())
    given = [tensor for _, tensor in tensors_of(list(arguments))]
    owned = {tensor.untyped_storage().data_ptr() for tensor in (*given, *parameters.values(), *model.buffers())}
    answer = [tensor for _, tensor in tensors_of(expected)]
    try:
        read = [*given, *parameters.values()] if floor.reads == "all" else list(_chosen(floor.reads, arguments, parameters))
        written = answer if floor.writes == "all" else [_at(answer, position, "output") for position in floor.writes]
    except LookupError as error:
        raise ProblemError(case.problem.path, None, f"floor: {error.args[0]}") from error
    numbers = numbers_in(vars(case.module))
    held_bytes = sum(tensor.nbytes for tensor in (*given, *parameters.values(), *model.buffers()))
    written_bytes = _written_bytes([tensor for tensor in written if tensor.untyped_storage().data_ptr() not in owned])
    return RequiredWork(
        read_bytes=max(sum(tensor.nbytes for tensor in read), min(int(value_of(floor.bytes, numbers)) - written_bytes, held_bytes)),
        written_bytes=written_bytes,
        operations=value_of(floor.operations, numbers),
        declared=declared is not None,
    )


def _chosen(reads: Sequence[int | str], arguments: Sequence[Any], parameters: Mapping[str, torch.Tensor]) -> Iterator[torch.Tensor]:
    for each in reads:
        if isinstance(each, int):
            yield from (tensor for _, tensor in tensors_of(_at(arguments, each, "argument")))
        elif each in parameters:
            yield parameters[each]
        else:
            raise LookupError(f"reads names a parameter {each!r}; the reference has {', '.join(parameters) or 'none'}")


def _at(values: Sequence[Any], position: int, what: str) -> Any:
    if position >= len(values):
        raise LookupError(f"it names {what} {position}; there are {len(values)}, counted from 0")
    return values[position]


def _written_bytes(tensors: Sequence[torch.Tensor]) -> int:
    """Bytes that must be written for these tensors. Memory that several of them view is written once."""
    storages: dict[int, tuple[int, int]] = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        _, before = storages.get(storage.data_ptr(), (0, 0))
        storages[storage.data_ptr()] = (storage.nbytes(), before + _distinct_elements(tensor) * tensor.element_size())
    return sum(min(held, written) for held, written in storages.values())


def _distinct_elements(tensor: torch.Tensor) -> int:
    """Elements of a tensor. A dimension whose first slice equals its last counts as one, since it may have been expanded."""
    if tensor.numel() == 0:
        return 0
    ends = ((tensor.select(axis, 0), tensor.select(axis, -1)) for axis in range(tensor.dim()))
    repeats = [torch.equal(raw_bytes(first), raw_bytes(last)) for first, last in ends]
    return math.prod(1 if repeated else size for repeated, size in zip(repeats, tensor.shape, strict=True))


def minimum_time_of(work: RequiredWork, speed: DevicePeaks) -> FloorEvidence:
    """The minimum time of this work on a device with these peaks."""
    moved_bytes = max(work.read_bytes - speed.l2_bytes, 0) + max(work.written_bytes - speed.l2_bytes, 0)
    seconds = max(moved_bytes / speed.bytes_per_s, work.operations / speed.operations_per_s)
    margin = limits.PEAK_MARGIN * (1 + speed.uncertainty)
    return FloorEvidence(
        read_bytes=work.read_bytes,
        written_bytes=work.written_bytes,
        l2_bytes=speed.l2_bytes,
        moved_bytes=moved_bytes,
        operations=work.operations,
        bytes_per_s=speed.bytes_per_s,
        operations_per_s=speed.operations_per_s,
        margin=margin,
        floor_ms=seconds / margin * 1e3,
        declared=work.declared,
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
    work = _known_work(case, model, oracle, device)
    speed = (calibrated_peaks(calibration, device) if calibration else None) or known_peaks(device)
    floor = minimum_time_of(work, speed)
    if runtime_ms is None or runtime_ms >= floor.floor_ms:
        return floor
    log.info("the device is measured again: %.4g ms is below the minimum time of %.4g ms", runtime_ms, floor.floor_ms)
    return minimum_time_of(work, higher_peaks(speed, measured_peaks(device)))


def _known_work(case: ProblemCase, model: torch.nn.Module, oracle: Oracle, device: torch.device) -> RequiredWork:
    """The work of one call, found in an earlier evaluation or now."""
    key = kept_figures.case_key("work", case)
    if found := kept_figures.read_as(RequiredWork, key):
        return found
    works = []
    for _ in range(2):  # for some random inputs less must be written than for others
        arguments = case.inputs(fresh_seed(), device)
        works.append(required_work(case, model, arguments, oracle.expected(arguments)))
    work = max(works, key=lambda work: work.written_bytes)
    kept_figures.write(key, asdict(work))
    return work


def known_peaks(device: torch.device) -> DevicePeaks:
    """The known peaks of a CUDA device; measured now if unknown. Raises torch.OutOfMemoryError."""
    return _peaks(PEAK_METER.recall, device)


def measured_peaks(device: torch.device) -> DevicePeaks:
    """Measure a CUDA device again, which takes some 20 ms on a large one. Raises torch.OutOfMemoryError."""
    return _peaks(PEAK_METER.measure, device)


def _peaks(find: Callable[[str, torch.device], float | None], device: torch.device) -> DevicePeaks:
    copied = find(COPY, device)
    rates = [rate for name in RATED if (rate := find(name, device)) is not None]
    if copied is None or not rates:
        raise RuntimeError(f"neither copies nor matrix products run on {device}")
    return DevicePeaks(bytes_per_s=copied, operations_per_s=max(rates), l2_bytes=cache_bytes(device))


def calibrated_peaks(calibration: Calibration, device: torch.device) -> DevicePeaks | None:
    """The peaks in a calibration; None if one of them is missing."""
    copied = calibration.ceiling(COPY)
    rated = [ceiling for name in RATED if (ceiling := calibration.ceiling(name)) is not None]
    if copied is None or not rated:
        return None
    fastest = max(rated, key=lambda ceiling: ceiling.per_s)
    uncertainty = max(copied.uncertainty, fastest.uncertainty)
    return DevicePeaks(copied.per_s, fastest.per_s, cache_bytes(device), uncertainty)


def higher_peaks(first: DevicePeaks, second: DevicePeaks) -> DevicePeaks:
    """The higher of each rate, with the larger uncertainty."""
    return DevicePeaks(
        bytes_per_s=max(first.bytes_per_s, second.bytes_per_s),
        operations_per_s=max(first.operations_per_s, second.operations_per_s),
        l2_bytes=second.l2_bytes,
        uncertainty=max(first.uncertainty, second.uncertainty),
    )
