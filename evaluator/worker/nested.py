"""Nested values: arguments and outputs in containers, their parts, and the same containers of other parts.

Containers are dicts, lists, tuples, named tuples, dataclasses, simple namespaces and packed sequences. All else is a leaf.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence


def parts_of(value: Any) -> list[tuple[str, Any]] | None:
    """The parts of a container, in order, each with its path, such as `[0]` or `.width`; None for a leaf."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, PackedSequence):
        return [(".data", value.data)]  # its lengths and their order are no values
    if isinstance(value, tuple | list) and not isinstance(value, torch.Size):
        return [(f"[{number}]", item) for number, item in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        return [(f".{each.name}", getattr(value, each.name)) for each in fields(value) if hasattr(value, each.name)]
    if isinstance(value, SimpleNamespace):
        return [(f".{name}", item) for name, item in vars(value).items()]
    return None


def with_parts(value: Any, items: Sequence[Any]) -> Any:
    """A container like this one, of these parts, which are as many."""
    if type(value) is dict:
        return dict(zip(value, items, strict=True))
    if isinstance(value, dict):
        changed = copy(value)  # of its own class, as a reference may need it
        changed.update(zip(value, items, strict=True))
        return changed
    if isinstance(value, PackedSequence):
        (data,) = items
        order = (each if each is None else each.to(data.device) for each in (value.sorted_indices, value.unsorted_indices))
        return PackedSequence(data, value.batch_sizes, *order)
    if isinstance(value, tuple | list):
        made = getattr(type(value), "_make", tuple) if isinstance(value, tuple) else list
        return made(items)
    changed = copy(value)
    for (path, _), item in zip(parts_of(value) or (), items, strict=True):
        object.__setattr__(changed, path[1:], item)  # a dataclass may be frozen
    return changed


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The nested value with `change` applied to every tensor."""
    if isinstance(value, torch.Tensor):
        return change(value)
    parts = parts_of(value)
    return value if parts is None else with_parts(value, [mapped(item, change) for _, item in parts])


def with_tensors(value: Any, items: Iterable[torch.Tensor]) -> Any:
    """The nested value with these tensors instead of its own, which are as many."""
    given = iter(items)
    return mapped(value, lambda _: next(given))


def values_in(value: Any) -> Iterator[Any]:
    """All that is in nested tuples, lists and dicts: a shape's sizes, too, and objects of other classes whole."""
    if isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from values_in(each)
    else:
        yield value


def leaves_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of a nested value with its path, in order."""
    parts = parts_of(value)
    if parts is None:
        yield path, value
    for step, item in parts or ():
        yield from leaves_of(item, path + step)


def tensors_of(value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in a nested value with its path, in order."""
    return ((path, leaf) for path, leaf in leaves_of(value) if isinstance(leaf, torch.Tensor))


def tensors(value: Any) -> list[torch.Tensor]:
    """Every tensor in a nested value, in order."""
    return [tensor for _, tensor in tensors_of(value)]
