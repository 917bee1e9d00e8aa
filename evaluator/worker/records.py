"""Values of a problem's classes in a worker, which has the submission's classes: dataclasses, named tuples, enums.

A class of the submission takes the place of the problem's of the same name and fields, so that its methods can be used. Otherwise a class
is made that has the fields alone.
"""

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import fields as fields_of
from dataclasses import is_dataclass, make_dataclass
from enum import Enum, IntEnum, StrEnum
from types import ModuleType, SimpleNamespace
from typing import Any


class RecordMaker:
    """Makes values of the classes of one module; without one, of classes that have the fields alone."""

    def __init__(self, module: ModuleType | None = None) -> None:
        self._module = module
        self._made: dict[tuple[str, ...], type[Any]] = {}
        """Classes that the module lacks, by kind, name and fields."""

    def __call__(self, kind: str, name: str, fields: Mapping[str, Any]) -> Any:
        """A value of this class. kind: `dataclass`, `namedtuple`, `enum` (one field, the member), or `namespace`."""
        if kind == "namespace":
            return SimpleNamespace(**fields)
        own = getattr(self._module, name, None)
        key = (kind, name, *fields)
        known: Any = own if isinstance(own, type) and _fits(own, kind, fields) else self._made.get(key)
        if known is None:
            known = self._made[key] = _made(kind, name, fields)
        if kind == "enum":
            return getattr(known, next(iter(fields)))
        if kind == "namedtuple":
            return known._make(fields.values())
        value: Any = object.__new__(known)
        for field, item in fields.items():
            object.__setattr__(value, field, item)  # it may be frozen, and its own checks were passed already
        return value


def _fits(own: type[Any], kind: str, fields: Mapping[str, Any]) -> bool:
    if kind == "enum":
        return issubclass(own, Enum) and all(name in own.__members__ for name in fields)
    if kind == "namedtuple":
        return issubclass(own, tuple) and getattr(own, "_fields", None) == tuple(fields)
    return is_dataclass(own) and {each.name for each in fields_of(own)} >= {*fields}


def _made(kind: str, name: str, fields: Mapping[str, Any]) -> type[Any]:
    if kind == "enum":
        (value,) = fields.values()
        base: Any = StrEnum if isinstance(value, str) else IntEnum if type(value) is int else Enum
        made: type[Any] = base(name, dict(fields))
        return made
    return namedtuple(name, [*fields]) if kind == "namedtuple" else make_dataclass(name, [*fields])
