"""Tables that a reader can sort, and that come a page at a time. The order is part of the address and made here: it needs no script."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Row = TypeVar("Row")
PAGE_ROWS = 100


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column that rows can be sorted by."""

    key: str
    title: str
    value: Callable[[Row], Any] | None
    """None where rows aren't sorted by it."""
    numeric: bool = False
    best_first: bool = False
    """Whether the first sort is the descending one."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What the head of a column shows."""

    key: str
    title: str
    numeric: bool
    sorted: str
    """`ascending`, `descending` or `none`, as in `aria-sort`."""
    next_order: str
    """What the next click asks for: `asc` or `desc`; empty where rows aren't sorted by it."""


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """Some rows of a sorted whole."""

    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    total: int
    number: int
    """Of this page, from 1."""
    pages: int


def table(
    columns: Sequence[Column[Row]], rows: Iterable[Row], sort: str | None, order: str | None, number: int = 1, size: int = PAGE_ROWS
) -> Table[Row]:
    """The rows of page `number`, in the order asked for: as they come, where no column of that name is there."""
    found = list(rows)
    chosen = next((column for column in columns if column.key == sort and column.value is not None), None)
    descending = order == "desc" if order else bool(chosen and chosen.best_first)
    if chosen is not None and (value := chosen.value) is not None:
        known = [row for row in found if value(row) is not None]
        # What has no value comes last, whichever way the rest is sorted.
        found = sorted(known, key=value, reverse=descending) + [row for row in found if value(row) is None]
    pages = max(1, -(-len(found) // size))
    number = min(max(number, 1), pages)
    shown = tuple(found[(number - 1) * size : number * size])
    return Table(tuple(_heading(column, chosen, descending) for column in columns), shown, len(found), number, pages)


def _heading(column: Column[Row], chosen: Column[Row] | None, descending: bool) -> Heading:
    if column.value is None:
        return Heading(column.key, column.title, column.numeric, "none", "")
    if column is not chosen:
        return Heading(column.key, column.title, column.numeric, "none", "desc" if column.best_first else "asc")
    way, other = ("descending", "asc") if descending else ("ascending", "desc")
    return Heading(column.key, column.title, column.numeric, way, other)
