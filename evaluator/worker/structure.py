"""Nested values as JSON without tensors: the caller describes each tensor.

The judge uses it for inputs and init inputs, the worker for the output of `forward`. A leaf that is neither a tensor nor plain data is
encoded only by its type's name: the judge can report it, and never has to understand it.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

MAX_DEPTH = 32
MAX_LEAVES = 4096
MAX_NAME_CHARS = 100
UNWRITTEN = "view"
"""The layout of a strided tensor whose elements are not all in memory."""

_DTYPES = {name: dtype for name, dtype in vars(torch).items() if isinstance(dtype, torch.dtype)}
"""A table, since asking torch itself for an unknown name may import half of it."""

Json = Any
Describe = Callable[[torch.Tensor], Json]
Resolve = Callable[[Json], Any]


class StructureError(ValueError):
    """A value that is nested too deeply, too large, or not of this form."""


class _Encoder:
    def __init__(self, describe: Describe) -> None:
        self._describe = describe
        self._leaves = 0

    def encode(self, value: Any, depth: int = 0) -> Json:
        if depth > MAX_DEPTH:
            raise StructureError(f"nested more than {MAX_DEPTH} deep")
        if isinstance(value, dict):
            return {"dict": [[self.encode(key, depth + 1), self.encode(item, depth + 1)] for key, item in value.items()]}
        if isinstance(value, tuple | list):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {kind: [self.encode(item, depth + 1) for item in value]}
        self._leaves += 1
        if self._leaves > MAX_LEAVES:
            raise StructureError(f"more than {MAX_LEAVES} values")
        return {"tensor": self._describe(value)} if isinstance(value, torch.Tensor) else _encode_leaf(value)


def _encode_leaf(value: Any) -> Json:
    if value is None or isinstance(value, bool | str):
        return {"value": value}
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"value": value} if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    return {"other": type(value).__name__[:MAX_NAME_CHARS]}


def encode(value: Any, describe: Describe) -> Json:
    """`value` as JSON; `describe` describes a tensor. Raises StructureError."""
    return _Encoder(describe).encode(value)


def decode(tree: Json, resolve: Resolve, depth: int = 0) -> Any:
    """The value that `encode` described; `resolve` turns a tensor's description into its replacement. Raises StructureError."""
    if depth > MAX_DEPTH or not isinstance(tree, dict) or len(tree) != 1:
        raise StructureError("not an encoded value")
    ((kind, content),) = tree.items()
    if kind == "tensor":
        return resolve(content)
    if kind in ("list", "tuple", "dict") and not isinstance(content, list):
        raise StructureError(f"a {kind} holds a list")
    if kind == "dict":
        return {_key(decode(key, resolve, depth + 1)): decode(item, resolve, depth + 1) for key, item in map(_pair, content)}
    if kind in ("list", "tuple"):
        items = [decode(item, resolve, depth + 1) for item in content]
        return tuple(items) if kind == "tuple" else items
    return _decode_leaf(kind, content)


def _pair(content: Json) -> tuple[Json, Json]:
    if not isinstance(content, list) or len(content) != 2:
        raise StructureError("a dict holds pairs")
    return content[0], content[1]


def _key(value: Any) -> Any:
    if isinstance(value, str | int | float | bool | None):
        return value
    raise StructureError("a dict's key is plain data")


def _decode_leaf(kind: str, content: Json) -> Any:
    if kind == "value" and (content is None or isinstance(content, bool | str | float | int)):
        return content
    if kind == "int" and isinstance(content, str) and len(content) <= 1000:
        try:
            return int(content)
        except ValueError as error:
            raise StructureError("not an integer") from error
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == "dtype" and isinstance(content, str):
        return named_dtype(content)
    if kind == "other" and isinstance(content, str):
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
    if name not in _DTYPES:
        raise StructureError(f"no dtype {name[:40]!r}")
    return _DTYPES[name]


def tensors_of(value: Any, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in a nested value with its path, in order."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_of(item, f"{path}[{key!r}]")
    elif isinstance(value, tuple | list):
        for number, item in enumerate(value):
            yield from tensors_of(item, f"{path}[{number}]")
