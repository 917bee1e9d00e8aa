"""Filters of a page: exact names in its address, and what there is to choose from."""

from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import Depends, Query
from sqlalchemy import select

from db.schema.models import AuthorRow, BoardRow
from db.store import Store
from evaluator.results.timing_protocols import alternative
from web.site import Site

MAX_NAME = 4096
MAX_CHOICES = 500
"""Names that a field proposes; others can be typed."""
Name = Annotated[str | None, Query(max_length=MAX_NAME)]
PageNumber = Annotated[int, Query(alias="page", ge=1, le=1_000_000)]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a reader has asked for; None lets everything pass."""

    problem: str | None = None
    author: str | None = None
    device: str | None = None
    case: str | None = None
    precision: str | None = None
    protocol: str | None = None
    """Of boards alone, which never mix protocols: None is the device's default."""

    @property
    def names(self) -> dict[str, str | None]:
        """Arguments of functions that count, whatever the protocol."""
        return {name: value for name, value in asdict(self).items() if name != "protocol"}


@dataclass(frozen=True, slots=True)
class Field:
    """A filter with what it can be set to."""

    name: str
    value: str | None
    choices: tuple[str, ...]
    free: bool
    """Whether there are more than `choices`, so that it is typed."""
    unset: str = "all"
    """What it stands for where nothing is chosen."""


def _chosen(
    problem: Name = None, author: Name = None, device: Name = None, case: Name = None, precision: Name = None, protocol: Name = None
) -> Chosen:
    # A form sends its empty fields too.
    return Chosen(problem or None, author or None, device or None, case or None, precision or None, alternative(protocol or None))


ChosenOf = Annotated[Chosen, Depends(_chosen)]


def fields_of(site: Site, chosen: Chosen, *names: str) -> tuple[Field, ...]:
    """The fields of a form for filters of these names."""
    known = site.memory.recall("choices", lambda: _known(site.store))
    return tuple(_field(name, getattr(chosen, name), known[name]) for name in names)


def _field(name: str, value: str | None, known: tuple[str, ...]) -> Field:
    free = len(known) > MAX_CHOICES or (value is not None and value not in known)
    return Field(name, value, known[:MAX_CHOICES], free, "the device's default" if name == "protocol" else "all")


def _known(store: Store) -> dict[str, tuple[str, ...]]:
    board = BoardRow
    columns = {"problem": board.problem, "device": board.device_name, "case": board.case}
    columns |= {"precision": board.precision, "protocol": board.protocol}
    with store.read() as connection:
        found = {name: connection.execute(select(column).distinct()).scalars().all() for name, column in columns.items()}
        found["author"] = connection.execute(select(AuthorRow.name)).scalars().all()
    return {name: tuple(sorted(value for value in values if value)) for name, values in found.items()}
