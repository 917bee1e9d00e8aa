"""Inputs for a worker: made by the judge, and copied into memory that both sides map."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch

from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory, describe, raw_bytes
from evaluator.problem.problem import ProblemCase
from evaluator.results.evidence import ParametersEvidence
from evaluator.worker import structure
from evaluator.worker.nested import tensors_of
from evaluator.worker.protocol import ProtocolError

ALIGNMENT_BYTES = 512
"""Alignment of the CUDA allocator; vector loads rely on it."""
COMPARE_BYTES = 1 << 29
"""Bytes compared at a time: on a GPU PyTorch stores a result for each word."""
WORD_BYTES = 8
MAX_NAMES = 16
"""Maximum names of parameters that a worker reports, of each kind."""
MAX_NAME_CHARS = 100
SHIFT_BYTES = 4096
"""Distance of the second address of a set from its first."""
TOGETHER_BYTES = 1 << 26
"""A larger tensor is copied on its own: the device takes at least 0.03 ms for it, and the host 0.01 ms to launch the copy."""


Given: TypeAlias = "Sequence[tuple[InputSet, Sequence[Any]]]"
"""Sets, and the arguments to copy into them."""


ParameterSource = Literal["copied", "drawn"]
"""The origin of a submission's parameters, as in ParametersEvidence."""


@dataclass(frozen=True)
class Constructed:
    """A worker's report on its constructed model."""

    parameters: ParametersEvidence | None
    changed: bool
    """Whether a parameter with another value was overwritten by the reference's."""
    on_host: bool
    """Whether it was made without the device."""


class InputSet:
    """Shared memory for one set of arguments, refilled for each use."""

    def __init__(self, memory: SharedMemory, arguments: Sequence[Any], *, movable: bool = False) -> None:
        """Allocate memory for arguments of these shapes, and copy their values in. movable: with room for a second address."""
        room = SHIFT_BYTES if movable else 0
        self.allocations = [memory.allocate(tensor.nbytes + room) for _, tensor in tensors_of(list(arguments))]
        self._room, self._offset = room, 0
        self.fill(arguments)

    def move(self) -> None:
        """Move the tensors to their other address, if the set is movable. Their values must be filled in again."""
        self._offset = self._room - self._offset

    def fill(self, arguments: Sequence[Any]) -> None:
        """Copy new values in, all with the set's shapes and dtypes."""
        fill([(self, arguments)])

    def targets(self, arguments: Sequence[Any]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """A pair for each tensor of the arguments: its place in shared memory, and the tensor."""
        fresh = [tensor for _, tensor in tensors_of(list(arguments))]
        for allocation, tensor in zip(self.allocations, fresh, strict=True):
            yield allocation.view(tensor.shape, tensor.dtype, self._offset), tensor

    def tree(self, arguments: Sequence[Any]) -> Any:
        """The arguments as a message to a worker: the place of each tensor, and all other values."""
        numbered = iter(self.allocations)
        return structure.encode(list(arguments), lambda tensor: describe(next(numbered), self._offset, tensor), structure.MAX_GIVEN_LEAVES)

    def unchanged(self, arguments: Sequence[Any], but: Collection[int] = ()) -> bool:
        """Whether the shared memory still holds these values, bit for bit, except the arguments at the positions `but`."""
        allocations = iter(self.allocations)
        originals = [
            (next(allocations), tensor, position) for position, argument in enumerate(arguments) for _, tensor in tensors_of(argument)
        ]
        return all(
            position in but or same_bytes(allocation.view(tensor.shape, tensor.dtype, self._offset), tensor)
            for allocation, tensor, position in originals
        )


def fill(given: Given) -> None:
    """Copy arguments into their sets."""
    filling(given)()


def filling(given: Given) -> Callable[[], None]:
    """A function that copies arguments into their sets, all at the same time: a worker that watches one gains no head start on others."""
    large: list[tuple[torch.Tensor, torch.Tensor]] = []
    small: dict[torch.dtype, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
    for inputs, arguments in given:
        for target, tensor in inputs.targets(arguments):
            if tensor.nbytes > TOGETHER_BYTES:
                large.append((target, tensor))
                continue
            targets, tensors = small.setdefault(tensor.dtype, ([], []))
            targets.append(target)
            tensors.append(tensor)

    def copy() -> None:
        for target, tensor in large:
            target.copy_(tensor)
        for targets, tensors in small.values():
            torch._foreach_copy_(targets, tensors)  # one kernel for many tensors, of one dtype

    return copy


def same_bytes(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two contiguous tensors of the same size are equal, bit for bit."""
    mine, theirs = raw_bytes(left), raw_bytes(right)
    pairs = zip(torch.split(mine, COMPARE_BYTES), torch.split(theirs, COMPARE_BYTES), strict=True)
    return all(_same_words(one, other) for one, other in pairs)


def _same_words(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether all bytes are equal. If both begin at a word boundary, compares eight at a time, with an eighth of the work."""
    if any(tensor.data_ptr() % WORD_BYTES or tensor.storage_offset() % WORD_BYTES for tensor in (one, other)):
        return torch.equal(one, other)
    whole = one.numel() // WORD_BYTES * WORD_BYTES
    same = torch.equal(one[:whole].view(torch.int64), other[:whole].view(torch.int64))
    return same and torch.equal(one[whole:], other[whole:])


def construct(
    worker: WorkerClient,
    memory: SharedMemory,
    arguments: Sequence[Any],
    model: torch.nn.Module,
    seed: int,
    case: ProblemCase,
    deadline_s: float,
    *,
    source: ParameterSource = "copied",
    compiled: bool = False,
    constants: Mapping[str, Any] | None = None,
    keeps: bool = False,
    on_device: bool = False,
    aside: bool = False,
) -> Constructed:
    """Have the worker construct its model for the case, with the init arguments and the seed. Optionally copy the parameters of `model`,
    the reference, and wrap the model in torch.compile. constants: set in its module. keeps: its models of other cases are kept.
    on_device: where tensors are made. aside: others may have the device while the model is made.

    Raises WorkerError, ProtocolError.
    """
    told = {
        "case": case.name,
        "constants": {name: structure.encode(value, _no_tensor) for name, value in (constants or {}).items()},
        "keeps": keeps,
        "on_device": on_device,
        "aside": aside,
        "dtype": case.dtype_name,
        "procedure": case.procedure_of(model).encode(),
        "source": source,
        "compiled": compiled,
    }
    packed = _Packed(memory, model.state_dict())
    tensors = InputSet(memory, arguments)
    allocations = [*packed.allocations, *tensors.allocations]
    worker.hand_over(allocations, deadline_s)
    synchronize(memory.device)  # copies of parameters may wait behind the rounds' work
    reply = worker.request("construct", deadline_s, seed=seed, arguments=tensors.tree(arguments), parameters=packed.views, **told)
    worker.take_back(allocations, deadline_s)
    memory.free(allocations)
    worker.cases = {case.name} | (worker.cases if keeps else set())
    names = {field: _names(reply.get(field)) for field in ("kept", "converted", "unmatched", "missing")}
    learned = {name for name, _ in model.named_parameters(remove_duplicate=False)}  # a buffer may be computed anew, as a causal mask is
    names["missing"] = tuple(shown for shown in names["missing"] if shown.partition(" ")[0] in learned)
    parameters = ParametersEvidence(source=source, **names) if packed.views else None
    return Constructed(parameters, reply.get("changed") is True, reply.get("on_host") is True)


def _no_tensor(_: torch.Tensor) -> Any:
    raise ValueError("a case's constants are plain values")


def _names(value: Any) -> tuple[str, ...]:
    """Check names that a worker sent, which may be anything. Raises ProtocolError."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ProtocolError("the reply to `construct` lacks names of parameters")
    return tuple("".join(filter(str.isprintable, name))[:MAX_NAME_CHARS] for name in value[:MAX_NAMES])


class _Packed:
    """Many small tensors in one allocation."""

    def __init__(self, memory: SharedMemory, named: dict[str, Any]) -> None:
        tensors = {name: value for name, value in named.items() if isinstance(value, torch.Tensor)}
        offsets, size = {}, 0
        for name, tensor in tensors.items():
            offsets[name] = size
            size += -(-tensor.nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        self.allocations: list[Allocation] = [memory.allocate(size)] if tensors else []
        self.views = []
        for name, tensor in tensors.items():
            allocation, start = self.allocations[0], offsets[name]
            if tensor.numel():
                allocation.bytes[start : start + tensor.nbytes].view(tensor.dtype).view(tensor.shape).copy_(tensor)
            self.views.append([name, describe(allocation, start, tensor)])
