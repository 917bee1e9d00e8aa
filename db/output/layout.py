"""Headings and tables of the command line's output."""

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from evaluator.results.display.table import ALWAYS, Column, Table
from evaluator.results.display.text import cell

Item = RenderableType | Table
"""An argument of `evaluator.results.display.screen.rendered`."""
_TEXTS = ("message", "cause", "remark", "more", "kernel", "where", "first wrong", "shapes", "inputs", "prompt", "tags")
"""Columns whose values may wrap."""


def heading(title: str) -> Text:
    return Text("\n", style="bold") + cell(title)


def table_of(*columns: str) -> Table:
    """A table whose columns are in order of importance, the most important one first."""
    last = len(columns)
    importance = {name: ALWAYS if place == 0 else 2 * last if name in _TEXTS else last - place for place, name in enumerate(columns)}
    return Table([Column(name, importance[name], "text" if name in _TEXTS else "whole") for name in columns])


def facts_table(facts: dict[str, object]) -> RichTable:
    """One line for each known fact."""
    table = RichTable(box=None, show_header=False, padding=(0, 2))
    for name, value in facts.items():
        if value is not None:
            table.add_row(cell(name), cell(value))
    return table
