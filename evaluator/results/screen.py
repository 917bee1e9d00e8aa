"""The screen that text is printed on: how wide it is, and what is printed as text."""

import os
from itertools import groupby

from rich.console import Console, RenderableType
from rich.text import Text

from evaluator.results.table import Layout, Table, layout, show

UNLIMITED = 100_000
"""Columns of what goes to a pipe or a file, which breaks no line."""


class Screen:
    """Standard output, or standard error with `stderr`: a terminal, a pipe or a file."""

    def __init__(self, *, stderr: bool = False) -> None:
        self.console = Console(stderr=stderr)
        self.is_terminal = self.console.file.isatty()
        limited = self.is_terminal or "COLUMNS" in os.environ
        self.width: int | None = self.console.width if limited else None
        """Columns; None where no reader has a width."""
        if not limited:
            self.console.width = UNLIMITED

    def text(self, *items: RenderableType | Table) -> str:
        """The items as text, with colours where it is a terminal.

        A `str` has to be plain already, is left as it is, and is not given to Rich, which takes a minute for
        what a submission can print in a second. Tables of the same columns are laid out alike, and one line at the end names the columns
        for which there is no room.
        """
        tables = [item for item in items if isinstance(item, Table)]
        alike = [list(group) for _, group in groupby(sorted(tables, key=_names), key=_names)]
        layouts = {_names(group[0]): layout(group, self.width) for group in alike}
        parts = []
        for item in items:
            if isinstance(item, str):
                parts.append(item + "\n")
                continue
            with self.console.capture() as capture:
                self._print(item, layouts)
            parts.append(capture.get())
        dropped = dict.fromkeys(name for found in layouts.values() for name in found.dropped)
        if dropped:
            with self.console.capture() as capture:
                note = f"Not shown for lack of room: {', '.join(dropped)}; widen the terminal or --json"
                self.print(Text(note, style="dim"))
            parts.append(capture.get())
        return "".join(line.rstrip(" ") + "\n" for line in "".join(parts).removesuffix("\n").split("\n"))

    def print(self, item: RenderableType) -> None:
        """Prints one item: words are wrapped on a terminal; elsewhere, and in a `Text` that says so, lines stay as they are."""
        self.console.print(item, soft_wrap=isinstance(item, Text) and (not self.is_terminal or bool(item.no_wrap)))

    def _print(self, item: RenderableType | Table, layouts: dict[tuple[str, ...], Layout]) -> None:
        width = self.console.width
        if isinstance(item, Table):
            show(item, layouts[_names(item)], self.console)
        else:
            self.print(item)
        self.console.width = width


def rendered(*items: RenderableType | Table) -> str:
    """The items as text for standard output, as `Screen.text` has it."""
    return Screen().text(*items)


def _names(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)
