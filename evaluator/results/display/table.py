"""Tables that fit on the screen.

Each table declares its columns, in order, with their importance. If not all fit, empty columns are left out first, then the least
important ones. Names are then shortened in the middle. If two of them would look the same, the different part is kept, or they are
wrapped at `/` and `_`. Texts are wrapped at spaces. Headers are never wrapped or cut. Without a width limit, as in a pipe, everything is
shown.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Literal

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from evaluator.results.display.text import cell

ALWAYS = 1000
"""The importance of a column that is never left out."""
GAP = 2
"""Spaces between two columns."""
LEAST = {"whole": 0, "name": 12, "path": 24, "text": 24}
"""Minimum width of a column by kind, if its content is that long. `whole` needs the full length."""

LEAST_PART = 5
"""Minimum characters that are kept of a part of a path."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `name` is its header."""

    name: str
    importance: int = ALWAYS
    """The least important column is left out first."""
    kind: Literal["whole", "name", "path", "text"] = "whole"
    """`whole` values are kept, names and paths may be shortened, texts may be wrapped."""
    right: bool = False
    """Whether it is right-aligned, for numbers."""


class Table:
    """Rows under columns, with a title above."""

    def __init__(self, columns: Sequence[Column], title: str = "") -> None:
        self.columns, self.title = tuple(columns), title
        self.rows: list[tuple[Text, ...]] = []

    def add(self, *values: object) -> None:
        """Add a row: one value per column. None is shown as empty."""
        row = tuple(value if isinstance(value, Text) else cell(value) for value in values)
        if len(row) != len(self.columns):
            raise ValueError(f"{len(row)} values for {len(self.columns)} columns")
        self.rows.append(row)


@dataclass(frozen=True, slots=True)
class Layout:
    """The widths of the shown columns by position, and the names of the columns that don't fit."""

    widths: dict[int, int]
    dropped: tuple[str, ...]


def layout(tables: Sequence[Table], width: int | None) -> Layout:
    """One layout for tables with the same columns. `width` None: no limit."""
    columns = tables[0].columns
    natural = {place: _natural(tables, place) for place in range(len(columns))}
    if width is None:
        return Layout(natural, ())
    shown = [place for place in natural if any(row[place].plain for table in tables for row in table.rows)]
    least = {place: _least(columns[place], natural[place]) for place in shown}
    while _total(least) > width and (spare := [place for place in least if columns[place].importance < ALWAYS]):
        last = min(spare, key=lambda place: columns[place].importance)
        del least[last]
    return Layout(_widened(columns, least, natural, width), tuple(columns[place].name for place in shown if place not in least))


def show(table: Table, found: Layout, console: Console) -> None:
    """Print a table in its layout."""
    drawn = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    contents = []
    for place, width in found.widths.items():
        column = table.columns[place]
        drawn.add_column(Text(column.name), justify="right" if column.right else "left", width=width, no_wrap=True, overflow="ignore")
        contents.append(_fitted([row[place] for row in table.rows], column, width))
    for values in zip(*contents, strict=True):
        drawn.add_row(*values)
    console.width = max(console.width, _total(found.widths))
    if table.title:
        console.print(cell(table.title), style="bold", soft_wrap=True)
    console.print(drawn)


def shortened(name: str, width: int) -> str:
    """A name cut to at most `width` columns, with `…` in its middle; more of its end than of its beginning is kept."""
    if cell_len(name) <= width:
        return name
    head = (width - 1) // 3
    kept = chop_cells(name, head)[0] if head else ""
    tail = chop_cells(name[::-1], max(width - 1 - cell_len(kept), 1))[0][::-1]
    return f"{kept}…{tail}"


def told_apart(names: Set[str], width: int) -> dict[str, str]:
    """Each name in at most `width` columns, all different: shortened in the middle, or to the different part, or else in lines."""
    told = {name: shortened(name, width) for name in names}
    seen = Counter(told.values())
    alike = sorted(name for name in names if seen[told[name]] > 1)
    for way in ([_squeezed(name, width) for name in _parts(alike)], _around(alike, width), [wrapped(name, width) for name in alike]):
        found = told | dict(zip(alike, way, strict=True))
        if len(set(found.values())) == len(found) and all(cell_len(name) <= width or "\n" in name for name in way):
            break
    return found


def _parts(names: Sequence[str]) -> Iterator[str]:
    """The parts of each path that differ from the others, as in `…/a_model/…/sample_3/…`. The names must be sorted."""
    paths = [name.split("/") for name in names]
    shared = sum(1 for _ in takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False)))
    before = "…/" if shared else ""
    for part, group in groupby(names, key=lambda name: "".join(name.split("/")[shared : shared + 1])):
        rest = ["/".join(name.split("/")[shared + 1 :]) for name in group]
        for behind in _parts(rest) if len(rest) > 1 else ["…" if rest[0] else ""]:
            yield f"{before}{part}/{behind}".removesuffix("/")


def _squeezed(path: str, width: int) -> str:
    """A path with its longest parts shortened, until it fits or no part is longer than LEAST_PART."""
    parts = path.split("/")
    longest = max(map(cell_len, parts))
    while cell_len("/".join(parts)) > width and longest > LEAST_PART:
        longest -= 1
        parts = [shortened(part, longest) for part in path.split("/")]
    return "/".join(parts)


def _around(names: Sequence[str], width: int) -> list[str]:
    """The stretch of each name that differs from the others, with as much around it as fits."""
    start = _alike(names)
    end = _alike([name[start:][::-1] for name in names])
    told = []
    for name in names:
        stop = len(name) - end
        room = max(width - 2 - (stop - start), 0)
        first = start - min(start, room)
        last = stop + min(end, room - (start - first))
        told.append(shortened(f"{'…' if first else ''}{name[first:last]}{'…' if last < len(name) else ''}", width))
    return told


def _alike(names: Sequence[str]) -> int:
    """Length of the common prefix of all names."""
    return sum(1 for _ in takewhile(lambda characters: len(set(characters)) == 1, zip(*names, strict=False)))


def wrapped(name: str, width: int) -> str:
    """A name in lines of at most `width` columns, broken after `/` and `_` if possible."""
    lines = [""]
    for part in re.findall(r"[^/_]*[/_]+|[^/_]+", name):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        *whole, rest = chop_cells(lines[-1] + part, width)
        lines[-1:] = [*whole, rest]
    return "\n".join(lines)


def _fitted(values: Sequence[Text], column: Column, width: int) -> list[Text]:
    """The values of a column, in lines that fit its width."""
    if column.kind == "whole" or all(value.cell_len <= width for value in values):
        return list(values)
    if column.kind == "text":
        return [Text("\n").join(_lines(value, width)) for value in values]
    short = told_apart({value.plain for value in values}, width)
    return [Text(short[value.plain], style=value.style) for value in values]


def _lines(value: Text, width: int) -> list[Text]:
    return list(value.wrap(Console(width=width), width, overflow="fold"))


def _natural(tables: Sequence[Table], place: int) -> int:
    widths = (row[place].cell_len for table in tables for row in table.rows)
    return max(cell_len(tables[0].columns[place].name), max(widths, default=0))


def _least(column: Column, natural: int) -> int:
    return natural if column.kind == "whole" else max(cell_len(column.name), min(natural, LEAST[column.kind]))


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + GAP * max(len(widths) - 1, 0)


def _widened(columns: Sequence[Column], least: dict[int, int], natural: dict[int, int], width: int) -> dict[int, int]:
    """Distribute the room left among columns that need it: names first, since texts can be wrapped without loss."""
    widths = dict(least)
    room = width - _total(widths)
    for texts in (False, True):
        wanting = [place for place in widths if (columns[place].kind == "text") is texts]
        while room > 0 and (narrow := [place for place in wanting if widths[place] < natural[place]]):
            for place in narrow[:room]:
                widths[place] += 1
            room -= min(room, len(narrow))
    return widths
