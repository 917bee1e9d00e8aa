"""The screen: its width, and rendering for it."""

import os
from itertools import groupby

from rich.console import Console, RenderableType
from rich.text import Text

from evaluator.results.display.table import Layout, Table, layout, show

UNLIMITED = 100_000
"""Width in columns of a pipe or a file: no line is wrapped."""


class Screen:
    """Standard output, or standard error with `stderr`: a terminal, a pipe or a file."""

    def __init__(self, *, stderr: bool = False) -> None:
        self.console = Console(stderr=stderr)
        self.is_terminal = self.console.file.isatty()
        limited = self.is_terminal or "COLUMNS" in os.environ
        self.width: int | None = self.console.width if limited else None
        """Width in columns; None for a pipe or a file, unless COLUMNS is set."""
        if not limited:
            self.console.width = UNLIMITED

    def text(self, *items: RenderableType | Table) -> str:
        """The items as text, with colours on a terminal.

        A `str` must be plain already. It is kept as it is, and does not go through Rich, which needs a minute for the output that a
        submission can print in a second. Tables with the same columns get the same layout. A last line names the columns that don't fit.
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
                note = f"Not shown for lack of room: {', '.join(dropped)}; widen the terminal or use --json"
                self.print(Text(note, style="dim"))
            parts.append(capture.get())
        return "".join(line.rstrip(" ") + "\n" for line in "".join(parts).removesuffix("\n").split("\n"))

    def print(self, item: RenderableType) -> None:
        """Print one item. A terminal wraps words; elsewhere, and in a `Text` with `no_wrap`, lines are kept."""
        self.console.print(item, soft_wrap=isinstance(item, Text) and (not self.is_terminal or bool(item.no_wrap)))

    def _print(self, item: RenderableType | Table, layouts: dict[tuple[str, ...], Layout]) -> None:
        width = self.console.width
        if isinstance(item, Table):
            show(item, layouts[_names(item)], self.console)
        else:
            self.print(item)
        self.console.width = width


def rendered(*items: RenderableType | Table) -> str:
    """The items as text for standard output (`Screen.text`)."""
    return Screen().text(*items)


def _names(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)
