"""Compares the structure, shapes, dtypes and device of a worker's output with the reference's."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy
import torch
from torch.nn.utils.rnn import PackedSequence

from evaluator.judge import limits
from evaluator.results.category import Category
from evaluator.worker import structure
from evaluator.worker.memory import Densified
from evaluator.worker.nested import parts_of, tensors, values_in
from evaluator.worker.protocol import Message, ProtocolError

MAX_OUTPUTS = 1024
MAX_DIMENSIONS = 64


@dataclass(frozen=True)
class ClaimedTensor:
    """One tensor of the output, as the worker describes it. `number` is its position in the description."""

    number: int
    shape: tuple[int, ...]
    dtype: torch.dtype | None
    dtype_name: str
    device: str
    layout: str | None = None
    """What `evaluator.worker.memory.layout_of` says; None for a plain tensor."""
    order: tuple[int, ...] | None = None
    """Its dimensions in their order in memory, if it is not contiguous: a copy to memory with the same order is fast. A false order makes
    the copy slower, not wrong."""

    def laid_out(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor of this shape, with its dimensions permuted to this one's order."""
        return tensor if self.order is None else tensor.permute(self.order)

    def restored(self, tensor: torch.Tensor) -> torch.Tensor:
        """The reverse of `laid_out`."""
        return tensor if self.order is None else tensor.permute([self.order.index(number) for number in range(len(self.order))])


class MismatchError(Exception):
    """The output has another form than the reference's."""

    def __init__(self, category: Category, message: str) -> None:
        super().__init__(message)
        self.category = category


def read_claim(message: Message) -> tuple[Any, int]:
    """The output in the reply to a `call`, with each tensor as a ClaimedTensor, and their number. Raises ProtocolError."""
    claims: list[ClaimedTensor] = []

    def resolve(description: Any) -> ClaimedTensor:
        if len(claims) >= MAX_OUTPUTS:
            raise structure.StructureError(f"more than {MAX_OUTPUTS} tensors")
        claims.append(_claim(len(claims), description))
        return claims[-1]

    try:
        value = structure.decode(message.get("output"), resolve)
    except (structure.StructureError, TypeError, RecursionError) as error:
        raise ProtocolError(f"the answer's structure: {error}") from error
    return value, len(claims)


def _claim(number: int, description: Any) -> ClaimedTensor:
    try:
        shape, name, device = description["shape"], description["dtype"], description["device"]
    except (KeyError, TypeError, IndexError) as error:
        raise structure.StructureError("a tensor without shape, dtype or device") from error
    sizes_ok = _are_integers(shape) and all(0 <= size < 1 << 48 for size in shape)
    if not sizes_ok or not isinstance(name, str) or not isinstance(device, str):
        raise structure.StructureError("a tensor's shape, dtype or device is malformed")
    try:
        dtype = structure.named_dtype(name)
    except structure.StructureError:
        dtype = None
    order, layout = description.get("order"), description.get("layout")
    if order is not None and (not _are_integers(order) or sorted(order) != list(range(len(shape)))):
        raise structure.StructureError("a tensor's order of dimensions is malformed")
    if layout is not None and not isinstance(layout, str):
        raise structure.StructureError("a tensor's layout is malformed")
    return ClaimedTensor(number, tuple(shape), dtype, name[:40], device[:40], layout and layout[:40], tuple(order) if order else None)


def _are_integers(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_DIMENSIONS and all(type(item) is int for item in value)


def form_of(value: Any) -> Any:
    """The nested value with its tensors contiguous on the meta device, and dicts in place of dataclasses and the like."""
    if isinstance(value, torch.Tensor):
        return torch.empty_like(value, device="meta", memory_format=torch.contiguous_format)
    if isinstance(value, dict):
        return {key: form_of(item) for key, item in value.items()}
    parts = parts_of(value)
    if parts is None:
        return value
    if isinstance(value, tuple | list) and not isinstance(value, PackedSequence):
        items = [form_of(item) for _, item in parts]
        return tuple(items) if isinstance(value, tuple) else items
    return {path[1:]: form_of(item) for path, item in parts}


def has_plain_values(form: Any) -> bool:
    """Whether a nested value holds anything but tensors and None."""
    return any(value is not None and not isinstance(value, torch.Tensor) for value in values_in(form))


def is_empty(form: Any) -> bool:
    """Whether a nested value holds neither a tensor with elements nor a plain value."""
    return not has_plain_values(form) and not any(tensor.numel() for tensor in tensors(form))


def match(claimed: Any, expected: Any, device: str, path: str = "", plain_values: bool = True) -> Iterator[ClaimedTensor]:
    """The claimed tensor for each tensor of the reference's output, in the order of `tensors_of(expected)`.

    A list answers a tuple, and the other way round: a C++ `std::vector` comes back as a list. Plain numbers must have the same type and,
    with `plain_values`, the same value.

    Raises MismatchError for the first difference: structure and layout, then shape, dtype and device.
    """
    name = path or "the output"
    if isinstance(expected, torch.Tensor):
        yield _matching_tensor(claimed, expected, device, name)
    elif isinstance(expected, dict):
        claimed = vars(claimed) if isinstance(claimed, SimpleNamespace) else claimed
        if not isinstance(claimed, dict) or claimed.keys() != expected.keys():
            raise MismatchError(Category.WRONG_STRUCTURE, f"{name} is {_kind(claimed)}; the reference returns {_kind(expected)}")
        for key, item in expected.items():
            yield from match(claimed[key], item, device, f"{path}[{key!r}]", plain_values)
    elif isinstance(expected, tuple | list):
        if not isinstance(claimed, tuple | list) or len(claimed) != len(expected):
            raise MismatchError(Category.WRONG_STRUCTURE, f"{name} is {_kind(claimed)}; the reference returns {_kind(expected)}")
        for number, item in enumerate(expected):
            yield from match(claimed[number], item, device, f"{path}[{number}]", plain_values)
    elif not (_same_scalar(claimed, expected) if plain_values else type(claimed) is type(expected)):
        found = repr(claimed)[:80] if type(claimed) is type(expected) else _kind(claimed)
        raise MismatchError(Category.WRONG_STRUCTURE, f"{name} is {found}; the reference returns {expected!r}")


def _matching_tensor(claimed: Any, expected: torch.Tensor, device: str, name: str) -> ClaimedTensor:
    if not isinstance(claimed, ClaimedTensor):
        raise MismatchError(Category.WRONG_STRUCTURE, f"{name} is {_kind(claimed)}; the reference returns a tensor")
    was_sparse = isinstance(expected, Densified)
    if claimed.layout is not None and not (claimed.layout == structure.SPARSE and was_sparse):
        found = "is not written out" if claimed.layout == structure.UNWRITTEN else f"has the layout {claimed.layout}"
        wanted = "a dense or a sparse tensor" if was_sparse else "a dense tensor, as the reference does"
        raise MismatchError(Category.WRONG_STRUCTURE, f"{name} {found}; return {wanted}")
    shape = tuple(expected.shape)
    if claimed.shape != shape:
        raise MismatchError(Category.WRONG_SHAPE, f"{name} has shape {_sizes(claimed.shape)}; the reference's is {_sizes(shape)}")
    if claimed.dtype != expected.dtype:
        wanted = structure.dtype_name(expected.dtype)
        raise MismatchError(Category.WRONG_DTYPE, f"{name} has dtype {claimed.dtype_name}; the reference's is {wanted}")
    if claimed.device != device:
        raise MismatchError(Category.WRONG_DEVICE, f"{name} is on {claimed.device}; the inputs are on {device}")
    return claimed


def _same_scalar(claimed: Any, expected: Any) -> bool:
    """Whether two plain values are the same. A float mostly comes from a float32 tensor: it is compared like one, whose scale is itself."""
    if isinstance(expected, float) and isinstance(claimed, float):
        close = math.isclose(claimed, expected, rel_tol=2 * limits.FLOAT32_TOLERANCE)
        return close or (math.isnan(claimed) and math.isnan(expected))
    if type(claimed) is not type(expected):
        return False
    return numpy.array_equal(claimed, expected) if isinstance(expected, numpy.ndarray) else bool(claimed == expected)


def _kind(value: Any) -> str:
    if isinstance(value, ClaimedTensor | torch.Tensor):
        return "a tensor"
    if isinstance(value, structure.Other):
        return f"a {value.type_name}"
    if isinstance(value, dict):
        return f"a dict with the keys {', '.join(map(repr, value))[:200]}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"


def described(tensor: torch.Tensor) -> str:
    """Type and shape of a tensor, as in `float32 (37, 771)`."""
    return f"{structure.dtype_name(tensor.dtype)} {_sizes(tuple(tensor.shape))}"


def _sizes(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"
