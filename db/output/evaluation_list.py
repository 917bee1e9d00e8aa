"""Evaluations as a table: a line for each, on a screen of 80 columns."""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from db.queries.runs import EvaluationSummary
from evaluator.results.category import Status
from evaluator.results.text import plain_line, rendered

_LEAST = 8
"""Characters of a name that are shown however narrow the screen is."""
_COLOURS = {Status.CORRECT.value: "green", Status.NOT_EVALUATED.value: "yellow"}


class Name:
    """A name in one line; where the room doesn't suffice, one end is cut."""

    def __init__(self, name: str | None, *, keep_end: bool = False) -> None:
        self._text, self._keep_end = plain_line(name or ""), keep_end

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        width = Text(self._text).cell_len
        return Measurement(min(width, _LEAST), width).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = Text(self._text)
        if shown.cell_len > options.max_width:
            cut = Text(self._text[::-1] if self._keep_end else self._text)
            cut.truncate(options.max_width, overflow="ellipsis")
            shown = Text(cut.plain[::-1] if self._keep_end else cut.plain)
        yield shown


def text(rows: Sequence[EvaluationSummary], *, more: bool) -> str:
    """A line for each evaluation, id first; `more` tells that there are others. One line where there is none."""
    if not rows:
        return "The database holds no evaluation that fits.\n"
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("id", justify="right", no_wrap=True)
    for name in ("UTC", "category"):
        table.add_column(name, no_wrap=True)
    table.add_column("speedup", justify="right", no_wrap=True)
    authors = any(row.author for row in rows)
    for name in ("problem", *(["author"] if authors else []), "submission"):
        table.add_column(name)
    for row in rows:
        submission = row.submission if row.block is None else f"{row.submission} [{row.block}]"
        names = (Name(row.problem), *([Name(row.author)] if authors else []), Name(submission, keep_end=True))
        category = Text(plain_line(row.category), style=_COLOURS.get(row.status, "red"))
        speedup = "" if row.speedup is None else f"{row.speedup:.2f}×"
        table.add_row(str(row.evaluation_id), f"{row.started_at:%m-%d %H:%M}", category, speedup, *names)
    note = [Text(f"There are older ones: --limit {2 * len(rows)}", style="dim")] if more else []
    return rendered(table, *note)
