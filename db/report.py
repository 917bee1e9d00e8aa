"""The leaderboard and the table of failures, as text and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from db.leaderboard import CategoryCount, Failures, LeaderboardRow
from evaluator.category import CATEGORIES
from evaluator.plain import cell, rendered


def leaderboard_text(rows: Sequence[LeaderboardRow]) -> str:
    """One table a board; one line where nothing is ranked."""
    if not rows:
        return "Nothing is ranked: the database holds no correct evaluation that fits.\n"
    boards = groupby(rows, key=lambda row: (row.problem, row.case, row.device_name))
    return rendered(*(_board(board, list(members)) for board, members in boards))


def leaderboard_json(rows: Sequence[LeaderboardRow]) -> str:
    """An array with one object a row, fields as in `LeaderboardRow`."""
    return _dump([asdict(row) | {"started_at": row.started_at.isoformat()} for row in rows])


def failures_text(failures: Failures) -> str:
    """A table of causes; one line where there is none."""
    if not failures.evaluations:
        return "The database holds no evaluation that fits.\n"
    if not failures.counts:
        return f"All {failures.evaluations} evaluations are correct/ok.\n"
    table = Table("status", "category", "meaning", title=f"Not correct/ok, of {failures.evaluations} evaluations", title_justify="left")
    table.add_column("count", justify="right")
    table.add_column("share", justify="right")
    for item in failures.counts:
        share = f"{_share(item, failures):.1%}"
        table.add_row(item.status.value, item.category.value, CATEGORIES[item.category].meaning, str(item.count), share)
    return rendered(table)


def failures_json(failures: Failures) -> str:
    """`evaluations`, and `counts` with status, category, count and share (of all evaluations that fit)."""
    counts = [
        {"status": item.status.value, "category": item.category.value, "count": item.count, "share": _share(item, failures)}
        for item in failures.counts
    ]
    return _dump({"evaluations": failures.evaluations, "counts": counts})


def _board(board: tuple[str, str | None, str], rows: Sequence[LeaderboardRow]) -> RenderableType:
    problem, case, device_name = board
    table = Table(title=cell(f"{problem} · {case or 'no case'} · {device_name or 'unknown device'}"), title_justify="left")
    for name in ("rank", "speedup", "runtime ms", "baseline ms"):
        table.add_column(name, justify="right")
    for name in ("author", "submission", "block", "evaluation"):
        table.add_column(name)
    for row in rows:
        figures = (str(row.rank), f"{row.speedup:.3f}", f"{row.runtime_ms:.4g}", f"{row.baseline_ms:.4g}")
        table.add_row(*map(cell, (*figures, row.author, row.submission, row.block, row.evaluation_id)))
    return table


def _share(item: CategoryCount, failures: Failures) -> float:
    return item.count / failures.evaluations


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
