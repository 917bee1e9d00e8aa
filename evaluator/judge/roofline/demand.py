"""The bytes and operations that a problem requires of a call, from its declaration (`evaluator.problem.declaration.Floor`) and from the
reference.

An output that can be a view, of an input or of fewer elements, counts only its distinct memory.
"""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.judge.workers.shared_memory import raw_bytes
from evaluator.problem import kept_figures
from evaluator.problem.declaration import numbers_in
from evaluator.problem.execute import ProblemError
from evaluator.problem.expression import value_of
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.worker.nested import tensors
from evaluator.worker.structure import dtype_name

OWN = "float32"
"""The precision if neither the output nor the inputs have floating-point numbers."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Demand:
    """The bytes and operations that a problem requires of a call."""

    read_bytes: int
    written_bytes: int
    operations: float
    precision: str
    """Name of the floating-point type of the output or of the inputs."""
    declared: bool
    """Whether the problem's file declares them. If not, the bytes read are all inputs and parameters, and the operations are those that
    PyTorch counts in the reference. A submission may do with less of both, but has to write the output."""


def known_demand(case: ProblemCase, model: torch.nn.Module, oracle: Oracle, device: torch.device) -> Demand:
    """The demand of a call, found in an earlier evaluation or now. Raises as `demand_of` does."""
    key = kept_figures.case_key("larger demand", case)
    demand = kept_figures.read_as(Demand, key)
    if demand is None:
        # For some random inputs less must be written than for others.
        demands = [demand_of(case, model, oracle, case.inputs(fresh_seed(), device)) for _ in range(2)]
        demand = max(demands, key=lambda demand: demand.written_bytes)
        kept_figures.write(key, asdict(demand))
    return demand


def demand_of(case: ProblemCase, model: torch.nn.Module, oracle: Oracle, arguments: Sequence[Any]) -> Demand:
    """The demand of a call with these arguments. `oracle` has the reference `model`.

    Raises ProblemError if the declaration names an argument, a parameter or an output tensor that does not exist, ReferenceFailedError, and
    torch.OutOfMemoryError.
    """
    floor = case.problem.declaration.floor
    expected, operations = _counted(oracle, arguments) if floor is None else (oracle.expected(arguments), 0.0)
    parameters = dict(model.named_parameters())
    given = tensors(list(arguments))
    held = (*given, *parameters.values(), *model.buffers())
    answer = tensors(expected)
    read, written = [*given, *parameters.values()], answer
    if floor is not None:
        try:
            read = read if floor.reads == "all" else list(_chosen(floor.reads, arguments, parameters))
            written = answer if floor.writes == "all" else [_at(answer, position, "output") for position in floor.writes]
        except LookupError as error:
            raise ProblemError(case.problem.path, None, f"floor: {error.args[0]}") from error
    owned = {tensor.untyped_storage().data_ptr() for tensor in held}
    written_bytes = _written_bytes([tensor for tensor in written if tensor.untyped_storage().data_ptr() not in owned])
    read_bytes = sum(tensor.nbytes for tensor in read)
    if floor is not None:
        numbers = numbers_in(vars(case.module))
        operations = value_of(floor.operations, numbers)
        moved_bytes = int(value_of(floor.bytes, numbers))
        read_bytes = max(read_bytes, min(moved_bytes - written_bytes, sum(tensor.nbytes for tensor in held)))
    return Demand(read_bytes, written_bytes, operations, _precision([*answer, *given]), declared=floor is not None)


def _chosen(reads: Sequence[int | str], arguments: Sequence[Any], parameters: Mapping[str, torch.Tensor]) -> Iterator[torch.Tensor]:
    for each in reads:
        if isinstance(each, int):
            yield from (tensor for tensor in tensors(_at(arguments, each, "argument")))
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


def _precision(tensors: Sequence[torch.Tensor]) -> str:
    """Name of the first floating-point type of these tensors."""
    found = next((tensor.dtype for tensor in tensors if tensor.dtype.is_floating_point or tensor.dtype.is_complex), None)
    if found is None:
        return OWN
    return dtype_name(found.to_real() if found.is_complex else found)


def _counted(oracle: Oracle, arguments: Sequence[Any]) -> tuple[Any, float]:
    """The reference's output, and its operations as PyTorch counts them; 0 if it can't. Raises ReferenceFailedError."""
    with FlopCounterMode(display=False) as counter:
        try:
            return oracle.expected(list(arguments)), float(counter.get_total_flops())
        except ReferenceFailedError as error:
            log.info("the operations of the reference can't be counted: %s", error)
    return oracle.expected(list(arguments)), 0.0
