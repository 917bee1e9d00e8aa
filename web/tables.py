"""Tables with sorting, pages, and CSV.

The order is part of the address, and the server sorts: no script is needed. `grid` of `templates/parts.html` shows a table.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import groupby
from typing import Any, Generic, Literal, TypeVar

from db.exchange import csv_cell

Row = TypeVar("Row")
PAGE_ROWS = 100
Kind = Literal[
    "text",
    "word",
    "code",
    "number",
    "moment",
    "device",
    "rank",
    "problem",
    "author",
    "submission",
    "evaluation",
    "status",
    "run",
    "speedup",
    "medals",
]
"""Kind of a cell's content, which decides how `cell` of `templates/parts.html` shows it."""
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column that rows can be sorted by."""

    key: str
    """Its name in addresses."""
    title: str
    """Its heading. If it is a term of the glossary, the heading explains it."""
    value: Callable[[Row], Any] | None
    """Sort key of a row; None if rows can't be sorted by it. A column without any value is left out, unless it is shown always."""
    numeric: bool = False
    best_first: bool = False
    """Whether the first click sorts descending."""
    kind: Kind = "text"
    text: Callable[[Row], Any] | None = None
    """The shown value, if it differs from the sort key."""
    minor: bool = False
    """Whether it is hidden in a narrow window."""
    sortable: bool = True
    always: bool = False
    """Whether it is shown even if no row has a value."""
    doubt: Callable[[Row], tuple[str, int | None]] | None = None
    """For a `number` that is a speedup: what disturbed its times, empty if nothing did, and the evaluation that says so."""

    def shown(self, row: Row) -> Any:
        """The cell's content for a row."""
        shown = self.text or self.value
        return shown(row) if shown else None

    def is_empty(self, rows: Iterable[Row]) -> bool:
        """Whether the column is empty in all rows."""
        value = self.value or self.shown
        return all(value(row) in (None, "") for row in rows)


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column."""

    key: str
    title: str
    numeric: bool
    sorted: str
    """`ascending`, `descending` or `none`, as in `aria-sort`."""
    next_order: str
    """Order after the next click: `asc` or `desc`; empty if rows can't be sorted by it."""
    minor: bool = False
    kind: Kind = "text"


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """One page of a sorted table."""

    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    total: int
    number: int
    """Number of this page, from 1."""
    pages: int
    columns: tuple[Column[Row], ...]
    """One column for each heading."""
    every: tuple[Row, ...]
    """All rows in this order, if they are known; else the shown ones."""
    group: Callable[[Row], str] | None = None
    """The heading above a row and those beside it with the same heading; None for a table without such headings."""

    @property
    def groups(self) -> list[tuple[str, tuple[Row, ...]]]:
        """The shown rows by their heading, which is empty in a table without."""
        if self.group is None:
            return [("", self.rows)]
        return [(heading, tuple(rows)) for heading, rows in groupby(self.rows, self.group)]

    @property
    def first(self) -> int:
        """Number of the first row shown, from 1; 0 if there is none."""
        return min(self.total, (self.number - 1) * PAGE_ROWS + 1)


def table(
    columns: Sequence[Column[Row]],
    rows: Iterable[Row],
    sort: str | None,
    order: str | None,
    number: int = 1,
    size: int = PAGE_ROWS,
    prepare: Callable[[tuple[Row, ...]], None] | None = None,
    order_of_rows: str | None = None,
    group: Callable[[Row], str] | None = None,
) -> Table[Row]:
    """The rows of page `number`, in the requested order; unsorted if no column has that name.

    order_of_rows: the column by which the given rows are sorted already, which its heading shows unless another order is requested.
    group: the heading of a row's group, if rows of a group stand beside each other.

    Columns in which none of these rows has a value are left out. `prepare` gets the rows that will be shown, before columns that are not
    sorted by are asked for their values.
    """
    found = list(rows)
    chosen, descending = _chosen(columns, sort, order) if sort else _chosen(columns, order_of_rows, None)
    if sort and chosen is not None and (value := chosen.value) is not None:
        known = [row for row in found if value(row) is not None]
        # Rows without a value come last in both orders.
        found = sorted(known, key=value, reverse=descending) + [row for row in found if value(row) is None]
    pages = max(1, -(-len(found) // size))
    number = min(max(number, 1), pages)
    shown = tuple(found[(number - 1) * size : number * size])
    if prepare is not None:
        prepare(shown)
    return replace(_table(columns, shown, chosen, descending, (len(found), number, pages), tuple(found)), group=group)


def ordered_table(
    columns: Sequence[Column[Row]], rows: Iterable[Row], sort: str | None, order: str | None, number: int, total: int, size: int = PAGE_ROWS
) -> Table[Row]:
    """A table of rows that the database has already sorted and cut: page `number` of `total` rows."""
    chosen, descending = _chosen(columns, sort, order)
    shown = tuple(rows)
    return _table(columns, shown, chosen, descending, (total, number, max(1, -(-total // size))), shown)


def is_descending(columns: Sequence[Column[Row]], sort: str | None, order: str | None) -> bool:
    """Whether rows are sorted descending; by default as the column says."""
    return _chosen(columns, sort, order)[1]


def csv_lines(records: Iterable[Any]) -> Iterator[str]:
    """Records as CSV, in chunks of lines: a header, and a line for each record. Records are dataclasses or mappings.

    A text that a spreadsheet would take for a formula gets an apostrophe in front: names come from strangers.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names: list[str] = []
    for number, record in enumerate(records):
        values = _values(record)
        if not names:
            names = list(values)
            writer.writerow(names)
        writer.writerow([_cell(values.get(name)) for name in names])
        if number % _BATCH == _BATCH - 1:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _table(
    columns: Sequence[Column[Row]],
    shown: tuple[Row, ...],
    chosen: Column[Row] | None,
    descending: bool,
    place: tuple[int, int, int],
    every: tuple[Row, ...],
) -> Table[Row]:
    kept = tuple(column for column in columns if column is chosen or column.always or not shown or not column.is_empty(shown))
    headings = tuple(_heading(column, chosen, descending) for column in kept)
    return Table(headings, shown, *place, kept, every)


def _chosen(columns: Sequence[Column[Row]], sort: str | None, order: str | None) -> tuple[Column[Row] | None, bool]:
    chosen = next((column for column in columns if column.key == sort and column.value is not None and column.sortable), None)
    return chosen, order == "desc" if order else bool(chosen and chosen.best_first)


def _heading(column: Column[Row], chosen: Column[Row] | None, descending: bool) -> Heading:
    ways = ("none", "")
    if column is chosen:
        ways = ("descending", "asc") if descending else ("ascending", "desc")
    elif column.value is not None and column.sortable:
        ways = ("none", "desc" if column.best_first else "asc")
    return Heading(column.key, column.title, column.numeric, *ways, column.minor and column is not chosen, column.kind)


def _values(record: Any) -> Mapping[str, Any]:
    if is_dataclass(record) and not isinstance(record, type):
        return {field.name: getattr(record, field.name) for field in fields(record)}
    found: Mapping[str, Any] = record
    return found


def _cell(value: object) -> object:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    if isinstance(value, Mapping):
        return " ".join(f"{name}:{item}" for name, item in value.items())
    return csv_cell(value)
