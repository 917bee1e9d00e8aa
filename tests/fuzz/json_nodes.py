"""Changes to one node of a JSON value, which a number names."""

import copy
from collections.abc import Iterator
from typing import Any

from tests.fuzz.plan import Json


def nodes(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every node of a JSON value, its root first."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from nodes(item, (*path, key))


def replaced(message: Json, number: int, value: Json) -> Json:
    """The message with `value` in the place of one of its nodes."""
    paths = list(nodes(message))
    path = paths[number % len(paths)]
    if not path:
        return value
    changed = copy.deepcopy(message)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


def without(message: Json, number: int) -> Json:
    """The message without one of its nodes."""
    paths = list(nodes(message))[1:]
    if not paths:
        return {}
    path = paths[number % len(paths)]
    changed = copy.deepcopy(message)
    del _at(changed, path[:-1])[path[-1]]
    return changed


def extended(message: Json, number: int, value: Json) -> Json:
    """The message with one more member in one of its objects or lists."""
    changed = copy.deepcopy(message)
    holders = [holder for path in nodes(changed) if isinstance(holder := _at(changed, path), dict | list)]
    if not holders:
        return [message, value]
    holder = holders[number % len(holders)]
    if isinstance(holder, dict):
        holder["extra"] = value
    else:
        holder.append(value)
    return changed


def _at(value: Json, path: tuple[Any, ...]) -> Json:
    for key in path:
        value = value[key]
    return value
