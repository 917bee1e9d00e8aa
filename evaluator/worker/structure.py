"""Nested values as JSON without tensors: the caller describes each tensor.

The judge uses it for inputs and init inputs, the worker for the output of `forward`. Dataclasses, named tuples and members of enums are
encoded by the names of their class and fields, since the other side has other classes, or none. A leaf that is neither a tensor nor data is
encoded only by its type's name: the judge can report it, and never has to understand it.
"""

import base64
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from enum import Enum, Flag
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy
import torch
from torch.nn.utils.rnn import PackedSequence

from evaluator.worker.nested import parts_of

MAX_DEPTH = 32
MAX_LEAVES = 4096
"""Values of an output that are no containers."""
MAX_GIVEN_LEAVES = 100_000
"""Values of arguments that are no containers, and elements of one array."""
MAX_NAME_CHARS = 100
UNWRITTEN = "view"
"""The layout of a strided tensor whose elements are not all in memory."""
SPARSE = "sparse"
"""The layout of a tensor that was sparse before the worker wrote out its values."""

_NAMED = {str(value): value for value in vars(torch).values() if isinstance(value, torch.dtype | torch.layout | torch.memory_format)}
"""Constants of PyTorch by their names. A table, since asking torch itself for an unknown name may import half of it."""

Json = Any
Describe = Callable[[torch.Tensor], Json]
Resolve = Callable[[Json], Any]
Records = Callable[[str, str, Mapping[str, Any]], Any]
"""Makes a value of a class from its kind (`dataclass`, `namedtuple`, `namespace` or `enum`), the class's name, and its fields."""


class StructureError(ValueError):
    """A value that is nested too deeply, too large, or not of this form."""


def encode_leaf(value: Any) -> Json:
    """A value that is neither a container nor a tensor, as JSON; `other` if it is no data."""
    match value:
        case numpy.ndarray() | numpy.generic() if value.dtype.kind in "biufc" and value.size <= MAX_GIVEN_LEAVES:
            kind = "array" if isinstance(value, numpy.ndarray) else "number"
            return {kind: [value.dtype.str, list(value.shape), base64.b64encode(value.tobytes()).decode()]}
        case None | bool() | str():
            return {"value": value}
        case int():
            return {"int": str(value)}
        case float():
            return {"value": value} if math.isfinite(value) else {"float": repr(value)}
        case complex():
            return {"complex": [encode_leaf(value.real), encode_leaf(value.imag)]}
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case slice() | range():
            return {type(value).__name__: [encode_leaf(each) for each in (value.start, value.stop, value.step)]}
        case torch.Size():
            return {"size": [encode_leaf(each) for each in value]}
        case torch.device():
            return {"device": str(value)}
        case torch.dtype() | torch.layout() | torch.memory_format():
            return {"torch": str(value)}
    return {"other": type(value).__name__[:MAX_NAME_CHARS]}


def encode(value: Any, describe: Describe, most: int = MAX_LEAVES) -> Json:
    """`value` as JSON; `describe` describes a tensor. Raises StructureError, also for more than `most` leaves."""
    leaves = count(1)

    def inner(value: Any, depth: int) -> Json:
        if depth > MAX_DEPTH:
            raise StructureError(f"nested more than {MAX_DEPTH} deep")
        if isinstance(value, dict):
            pairs = [[inner(key, depth + 1), inner(item, depth + 1)] for key, item in value.items()]
            return {"dict": pairs} if type(value) is dict else {"mapping": [type(value).__name__[:MAX_NAME_CHARS], pairs]}
        if isinstance(value, PackedSequence):
            order = [None if each is None else each.tolist() for each in value[1:]]
            return {"packed": [inner(value.data, depth + 1), *order]}
        if isinstance(value, Flag) and not str(value.name).isidentifier():
            return inner(value.value, depth)  # several members at once
        if isinstance(value, Enum):
            return {"record": ["enum", type(value).__name__, [[value.name, inner(value.value, depth + 1)]]]}
        parts = parts_of(value)
        if parts is None:
            if next(leaves) > most:
                raise StructureError(f"more than {most} values")
            return {"tensor": describe(value)} if isinstance(value, torch.Tensor) else encode_leaf(value)
        items = [inner(item, depth + 1) for _, item in parts]
        if isinstance(value, list) or (isinstance(value, tuple) and not hasattr(type(value), "_make")):
            return {"tuple" if isinstance(value, tuple) else "list": items}
        kind = "namedtuple" if isinstance(value, tuple) else "namespace" if isinstance(value, SimpleNamespace) else "dataclass"
        names = type(value)._fields if isinstance(value, tuple) else [path[1:] for path, _ in parts]  # type: ignore[attr-defined]
        return {"record": [kind, type(value).__name__, [[*each] for each in zip(names, items, strict=True)]]}

    return inner(value, 0)


def plain(kind: str, _name: str, fields: Mapping[str, Any]) -> Any:
    """A value of a class without the class: a tuple, the value of an enum's member, or fields."""
    if kind == "namedtuple":
        return tuple(fields.values())
    return next(iter(fields.values()), None) if kind == "enum" else SimpleNamespace(**fields)


def decode(tree: Json, resolve: Resolve, record: Records = plain, depth: int = 0) -> Any:
    """The value that `encode` described; `resolve` turns a tensor's description into its replacement, and `record` makes values of classes.

    Raises StructureError.
    """
    if depth > MAX_DEPTH or not isinstance(tree, dict) or len(tree) != 1:
        raise StructureError("not an encoded value")
    ((kind, content),) = tree.items()
    if kind == "tensor":
        return resolve(content)
    if kind in _LISTS and not isinstance(content, list):
        raise StructureError(f"a {kind} holds a list")

    def inner(each: Json) -> Any:
        return decode(each, resolve, record, depth + 1)

    match kind, content:
        case "dict", list():
            return {_key(inner(key)): inner(item) for key, item in map(_pair, content)}
        case "mapping", [str(name), list(pairs)]:
            return (OrderedDict if name == OrderedDict.__name__ else dict)(decode({"dict": pairs}, resolve, record, depth))
        case "record", [str(made), str(name), list(fields)]:
            return record(made, _name(name), {_name(key): inner(item) for key, item in map(_pair, fields)})
        case "packed", [data, *order]:
            return _packed(inner(data), order)
    try:
        return _OF_ITEMS[kind]([inner(item) for item in content]) if kind in _OF_ITEMS else _decode_leaf(kind, content)
    except (TypeError, ValueError, RuntimeError, ArithmeticError, MemoryError) as error:
        raise error if isinstance(error, StructureError) else StructureError(f"not a {kind[:40]}") from error


_NUMERIC = re.compile(r"[<>|=][biufc]\d{1,2}")
"""Types of arrays that are data."""
_LISTS = ("list", "tuple", "dict", "mapping", "record", "packed", "slice", "range", "size", "complex", "array", "number")
_OF_ITEMS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "size": torch.Size,
    "slice": lambda items: slice(*items),
    "range": lambda items: range(*items),
    "complex": lambda items: complex(*items),
}


def _packed(data: Any, order: list[Json]) -> Any:
    try:
        lengths, *indices = (each if each is None else torch.tensor(each, dtype=torch.int64, device="cpu") for each in order)
        if not isinstance(data, torch.Tensor):
            return SimpleNamespace(data=data)  # an output's tensors are descriptions
        return PackedSequence(data, lengths, *(each if each is None else each.to(data.device) for each in indices))
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise StructureError("not a packed sequence") from error


def _pair(content: Json) -> tuple[Json, Json]:
    if not isinstance(content, list) or len(content) != 2:
        raise StructureError("a dict holds pairs")
    return content[0], content[1]


def _name(value: Any) -> str:
    if isinstance(value, str) and value.isidentifier() and len(value) <= MAX_NAME_CHARS:
        return value
    raise StructureError("a class and its fields have names")


def _key(value: Any) -> Any:
    if isinstance(value, str | int | float | bool | None):
        return value
    raise StructureError("a dict's key is plain data")


def _decode_leaf(kind: str, content: Json) -> Any:
    match kind, content:
        case "value", None | bool() | str() | float() | int():
            return content
        case "int", str() if len(content) <= 1000:
            return int(content)
        case "float", "nan" | "inf" | "-inf":
            return float(content)
        case "bytes", str():
            return base64.b64decode(content, validate=True)
        case "device", str():
            return torch.device(content)
        case "torch", str() if content in _NAMED:
            return _NAMED[content]
        case "array" | "number", [str(dtype), list(shape), str(data)] if _NUMERIC.fullmatch(dtype):
            array = numpy.frombuffer(base64.b64decode(data, validate=True), numpy.dtype(dtype)).reshape(shape).copy()
            return array if kind == "array" else array[()]
        case "other", str():
            return Other(content[:MAX_NAME_CHARS])
    raise StructureError(f"unknown kind {kind[:40]!r}")


class Other:
    """Stands for a value of a type that an output can't have."""

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


def named_dtype(name: str) -> torch.dtype:
    """`torch.float32` for `float32`. Raises StructureError."""
    found = _NAMED.get(f"torch.{name}")
    if not isinstance(found, torch.dtype):
        raise StructureError(f"no dtype {name[:40]!r}")
    return found
