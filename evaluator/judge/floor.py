"""How fast a call can be at all: the floor that the device's measured bandwidth and arithmetic put under its time.

    floor = max(bytes / bandwidth, operations / rate) / MARGIN

Bytes are those of the answer, which have to be written, and those inputs and parameters that the problem declares to be needed
(evaluator.declaration.Floor), each less what the L2 cache may hold: of what is read it may be there before the call, of what is written it
may not have left when the call ends. An answer that can be given as a view, of an input or of fewer elements than it has, counts as little.

The bandwidth is that of copying, the rate that of 16-bit matrix products, the most that a general device has: a product in float32 takes
three of them at the least to be precise enough. Both are measured in this process, after the submission's has been killed. The best of
all measurements of the process counts, so that nobody who slows the device down lowers it for those who come later.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from evaluator.declaration import Floor, numbers_in
from evaluator.expression import value_of
from evaluator.judge.answer import tensors_of
from evaluator.judge.inputs import fresh_seed
from evaluator.judge.memory import raw_bytes
from evaluator.judge.oracle import Oracle
from evaluator.problem import ProblemCase, ProblemError
from evaluator.result import FloorEvidence

MARGIN = 1.3
"""Copies reach 85 to 93 % of what the memory's clock allows, matrix products about 80 % of the peak (H200: 4.28 of 4.8 TB/s, 790 of 989
TFLOP/s): what is 1.3 times faster than measured is faster than the device can be."""
COPIES = 10
PRODUCTS = 4
COPY_FACTOR = 8
"""Sizes of the L2 cache that are copied: what stays in it is noise, in the submission's favour."""
LEAST_COPY_BYTES = 1 << 28
PRODUCT_SIZE = 8192
RATED = (torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Work:
    """What a call can't do without."""

    read_bytes: int
    written_bytes: int
    operations: float
    declared: bool
    """Whether the problem's file says so; otherwise the answer's bytes alone are counted."""


@dataclass(frozen=True)
class Speed:
    """What a device can do."""

    bytes_per_s: float
    operations_per_s: float
    l2_bytes: int


def work_of(case: ProblemCase, model: torch.nn.Module, arguments: Sequence[Any], expected: Any) -> Work:
    """The work in one call, from the declaration and from an answer `expected` of the reference `model` to `arguments`.

    Raises ProblemError where the declaration names an argument, a parameter or a tensor of the answer that there is not.
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
    return Work(
        read_bytes=sum(tensor.nbytes for tensor in read),
        written_bytes=_written_bytes([tensor for tensor in written if tensor.untyped_storage().data_ptr() not in owned]),
        operations=value_of(floor.operations, numbers_in(vars(case.module))),
        declared=declared is not None,
    )


def _chosen(reads: Sequence[int | str], arguments: Sequence[Any], parameters: Mapping[str, torch.Tensor]) -> Iterator[torch.Tensor]:
    for each in reads:
        if isinstance(each, int):
            yield from (tensor for _, tensor in tensors_of(_at(arguments, each, "argument")))
        elif each in parameters:
            yield parameters[each]
        else:
            raise LookupError(f"reads names a parameter {each!r}; there is {', '.join(parameters) or 'none'}")


def _at(values: Sequence[Any], position: int, what: str) -> Any:
    if position >= len(values):
        raise LookupError(f"it names {what} {position}; there are {len(values)}, counted from 0")
    return values[position]


def _written_bytes(tensors: Sequence[torch.Tensor]) -> int:
    """Bytes of these tensors, less what an answer can leave out that hands out views of memory which it has written once."""
    storages: dict[int, tuple[int, int]] = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        _, before = storages.get(storage.data_ptr(), (0, 0))
        storages[storage.data_ptr()] = (storage.nbytes(), before + _distinct_elements(tensor) * tensor.element_size())
    return sum(min(held, written) for held, written in storages.values())


def _distinct_elements(tensor: torch.Tensor) -> int:
    """Elements of a tensor, a dimension in which the first slice equals the last counted as one: it may have been expanded."""
    if tensor.numel() == 0:
        return 0
    ends = ((tensor.select(axis, 0), tensor.select(axis, -1)) for axis in range(tensor.dim()))
    repeats = [torch.equal(raw_bytes(first), raw_bytes(last)) for first, last in ends]
    return math.prod(1 if repeated else size for repeated, size in zip(repeats, tensor.shape, strict=True))


def floor_evidence(work: Work, speed: Speed) -> FloorEvidence:
    """The floor of this work on a device of this speed."""
    moved_bytes = max(work.read_bytes - speed.l2_bytes, 0) + max(work.written_bytes - speed.l2_bytes, 0)
    seconds = max(moved_bytes / speed.bytes_per_s, work.operations / speed.operations_per_s)
    return FloorEvidence(
        read_bytes=work.read_bytes,
        written_bytes=work.written_bytes,
        l2_bytes=speed.l2_bytes,
        moved_bytes=moved_bytes,
        operations=work.operations,
        bytes_per_s=speed.bytes_per_s,
        operations_per_s=speed.operations_per_s,
        margin=MARGIN,
        floor_ms=seconds / MARGIN * 1e3,
        declared=work.declared,
    )


def find_floor(case: ProblemCase, model: torch.nn.Module, oracle: Oracle, device: torch.device) -> FloorEvidence | None:
    """The floor of this problem on this device, measured now; None on the CPU, whose times are the judge's own.

    To be called under the device's lock, when no submission is running. Raises ProblemError where the declaration does not fit,
    ReferenceFailedError, and torch.OutOfMemoryError.
    """
    if device.type != "cuda":
        return None
    arguments = case.inputs(fresh_seed(), device)
    work = work_of(case, model, arguments, oracle.expected(arguments))
    del arguments  # their memory is room for the measurement
    return floor_evidence(work, SPEEDOMETER.measure(device))


class Speedometer:
    """The fastest that a device has been seen to be by this process."""

    def __init__(self) -> None:
        self._fastest: dict[torch.device, Speed] = {}

    def measure(self, device: torch.device) -> Speed:
        """Measure a CUDA device again; some 20 ms on a large one. Raises torch.OutOfMemoryError."""
        measured, before = _measure(device), self._fastest.get(device)
        if before is not None:
            measured = Speed(
                bytes_per_s=max(measured.bytes_per_s, before.bytes_per_s),
                operations_per_s=max(measured.operations_per_s, before.operations_per_s),
                l2_bytes=measured.l2_bytes,
            )
        self._fastest[device] = measured
        return measured


SPEEDOMETER = Speedometer()
"""This process's."""


def _measure(device: torch.device) -> Speed:
    l2_bytes = int(torch.cuda.get_device_properties(device).L2_cache_size)
    return Speed(
        bytes_per_s=_copy_rate(device, max(COPY_FACTOR * l2_bytes, LEAST_COPY_BYTES)),
        operations_per_s=max(_product_rate(device, dtype) for dtype in RATED),
        l2_bytes=l2_bytes,
    )


def _copy_rate(device: torch.device, nbytes: int) -> float:
    """Bytes read and written in a second."""
    source, target = (torch.empty(nbytes, dtype=torch.uint8, device=device) for _ in range(2))
    return 2 * nbytes / best_s(lambda: target.copy_(source), device, COPIES)


def _product_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Operations in a second, of zeros: they take the least power, so that the clock stays up."""
    left, right, product = (torch.zeros(PRODUCT_SIZE, PRODUCT_SIZE, dtype=dtype, device=device) for _ in range(3))
    return 2 * PRODUCT_SIZE**3 / best_s(lambda: torch.mm(left, right, out=product), device, PRODUCTS)


def best_s(work: Callable[[], object], device: torch.device, times: int) -> float:
    """The shortest that this work took on a CUDA device, of so many times in a row after one to warm up, in seconds."""
    with torch.no_grad(), torch.cuda.device(device):
        work()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(times + 1)]  # type: ignore[no-untyped-call]
        events[0].record()
        for event in events[1:]:
            work()
            event.record()
        torch.cuda.synchronize(device)
        return min(float(start.elapsed_time(end)) for start, end in pairwise(events)) / 1e3
