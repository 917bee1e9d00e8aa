"""Headings and tables of the text that the command line prints."""

from rich.table import Table
from rich.text import Text

from evaluator.results.text import cell


def heading(title: str) -> Text:
    return Text("\n", style="bold") + cell(title)


def table_of(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def facts_table(facts: dict[str, object]) -> Table:
    """A line for everything that is known."""
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, value in facts.items():
        if value is not None:
            table.add_row(cell(name), cell(value))
    return table
