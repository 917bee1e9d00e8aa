"""Evaluations as a table, one line each, for a screen of 80 columns."""

from collections.abc import Sequence

from rich.text import Text

from db.queries.runs import EvaluationSummary
from evaluator.results.category import Status
from evaluator.results.display.figures import MARK, MARK_TEXT
from evaluator.results.display.screen import rendered
from evaluator.results.display.table import Column, Table
from evaluator.results.display.text import plain_line
from evaluator.results.submission_name import shown_name

_COLUMNS = (
    Column("id", right=True),
    Column("UTC", 40),
    Column("category"),
    Column("speedup", 70, right=True),
    Column("problem", 90, "name"),
    Column("author", 60, "name"),
    Column("submission", kind="path"),
)
_COLOURS = {Status.CORRECT.value: "green", Status.NOT_EVALUATED.value: "yellow"}


def text(rows: Sequence[EvaluationSummary], *, more: bool) -> str:
    """One line per evaluation, id first. `more`: whether there are others. A single message if there is none."""
    if not rows:
        return "No evaluation matches.\n"
    table = Table(_COLUMNS)
    for row in rows:
        category = Text(plain_line(row.category), style=_COLOURS.get(row.status, "red"))
        speedup = "" if row.speedup is None else f"{row.speedup:.2f}×{MARK if row.disturbed else ''}"
        table.add(
            row.evaluation_id,
            f"{row.started_at:%m-%d %H:%M}",
            category,
            speedup,
            row.problem,
            row.author,
            shown_name(row.submission, row.block),
        )
    notes = [Text(f"{MARK_TEXT}; `show ID` says what.", style="dim")] if any(row.disturbed for row in rows) else []
    notes += [Text(f"There are more: --limit {2 * len(rows)}", style="dim")] if more else []
    return rendered(table, *notes)
