"""What the database commands answer, as text and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from enum import Enum
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from db.foreign import ForeignHistoryRow
from db.queries.compare import AuthorComparison
from db.queries.history import HistoryRow
from db.queries.leaderboard import CategoryCount, Failures, LeaderboardRow
from db.queries.overall import OverallBoard
from db.queries.statistics import FAILURE_SPEEDUP, FAST_P, PASS_AT
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.figures import best_text, light_text, rank_text, solved_text
from evaluator.results.text import cell, rendered


def leaderboard_text(rows: Sequence[LeaderboardRow]) -> str:
    """One table a board; one line where nothing is ranked."""
    if not rows:
        return "Nothing is ranked: the database holds no correct evaluation that fits.\n"
    boards = groupby(rows, key=lambda row: (row.problem, row.case, row.device_name, row.precision, row.protocol))
    return rendered(*(_board(board, list(members)) for board, members in boards))


def leaderboard_json(rows: Sequence[LeaderboardRow]) -> str:
    """An array with one object a row, fields as in `LeaderboardRow`."""
    return dump(rows)


def overall_text(boards: Sequence[OverallBoard]) -> str:
    """One table a board with a row for each author; one line where nobody was judged."""
    if not boards:
        return "Nobody was judged: the database holds no evaluation that fits.\n"
    rule = f"{FAILURE_SPEEDUP:g} for each unsolved task"
    note = Text(f"fast_p: share of all tasks solved and faster than p. Mean: geometric, of the best speedups, {rule}.", style="dim")
    return rendered(*map(_overall, boards), note)


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
    return rendered(table, Text("Which ones: assay list --category CATEGORY", style="dim"))


def failures_json(failures: Failures) -> str:
    """`evaluations`, and `counts` with status, category, count and share (of all evaluations that fit)."""
    counts = [
        {"status": item.status.value, "category": item.category.value, "count": item.count, "share": _share(item, failures)}
        for item in failures.counts
    ]
    return dump({"evaluations": failures.evaluations, "counts": counts})


def comparison_text(comparison: AuthorComparison) -> str:
    """A row for each board, and the sums."""
    first, second = comparison.first, comparison.second
    if not comparison.boards:
        return rendered(cell(f"{first} and {second} have been judged on no board together."))
    table = Table(title=cell(f"{first} against {second}"), title_justify="left")
    for name in ("problem", "case", "device", "precision"):
        table.add_column(name, overflow="fold")
    for heading in (cell(first), cell(second), "ratio"):
        table.add_column(heading, justify="right")
    table.add_column("faster", overflow="fold")
    winner = {"first": first, "second": second, "tie": "=", "neither": ""}
    for board in comparison.boards:
        figures = (_figure(board.first), _figure(board.second), _figure(board.ratio))
        place = (board.problem, board.case, board.device_name, board.precision)
        table.add_row(*map(cell, (*place, *figures, winner[board.outcome])))
    mean = "no board that both have solved"
    if comparison.ratio is not None:
        mean = f"ratio {comparison.ratio:.4g}, 95 % interval {comparison.ratio_low:.4g} to {comparison.ratio_high:.4g}"
    counts = f"{comparison.wins} won, {comparison.losses} lost, {comparison.ties} tied"
    return rendered(table, cell(f"{counts}; {mean}; sign test p = {comparison.p_value:.3g}"))


def history_text(submission: str, rows: Sequence[HistoryRow]) -> str:
    """A row for each evaluation; the one that counts today is marked."""
    table = Table(title=cell(submission), title_justify="left")
    columns = ("evaluation", "started", "block", "problem", "case", "device", "verdict", "speedup", "source", "evaluator", "")
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        started = row.started_at.isoformat(sep=" ", timespec="seconds")
        place = (row.block, row.problem, row.case, row.device_name)
        mark = "current" if row.is_current else ""
        verdict = f"{row.status}/{row.category}"
        values = (row.evaluation_id, started, *place, verdict, _figure(row.speedup), row.source_sha256[:12], row.evaluator_version, mark)
        table.add_row(*map(cell, values))
    return rendered(table)


def foreign_text(submission: str, rows: Sequence[ForeignHistoryRow]) -> str:
    """A row for each verdict of another harness."""
    table = Table(title=cell(f"{submission}, by others"), title_justify="left")
    for name in ("harness", "imported", "problem", "sample", "verdict", "time ms", "source"):
        table.add_column(name, overflow="fold")
    for row in rows:
        verdict = "correct" if row.correct else "incorrect" if row.compiled else "did not compile"
        imported = row.imported_at.isoformat(sep=" ", timespec="seconds")
        place = (f"level {row.level}, {row.problem_number}", row.sample_id)
        table.add_row(*map(cell, (row.harness, imported, *place, verdict, _figure(row.runtime_ms), (row.source_sha256 or "")[:12])))
    return rendered(table)


def dump(value: Any) -> str:
    """JSON of dataclasses and plain values, indented, with a newline at its end."""
    return json.dumps(value, indent=2, allow_nan=False, default=_plain) + "\n"


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "__dataclass_fields__"):
        return asdict(value)  # type: ignore[call-overload]
    raise TypeError(f"{type(value).__name__} is not for JSON")


def _board(board: tuple[str, str | None, str, str | None, str | None], rows: Sequence[LeaderboardRow]) -> RenderableType:
    problem, case, device_name, precision, protocol = board
    title = [problem, case or "no case", device_name or "unknown device"]
    title += [name for name in (precision, protocol) if name not in (None, "own")]
    table = Table(title=cell(" · ".join(title)), title_justify="left")
    has_others = any(row.best_baseline for row in rows)
    best = ("best baseline ms",) if has_others else ()
    for name in ("rank", "speedup", "95 % interval", "runtime ms", "baseline ms", *best, "of light (baseline)"):
        table.add_column(name, justify="right")
    # Where reduced precision is ranked too, it is marked.
    mixed = any(row.category != Category.OK.value for row in rows)
    for name in ("author", "submission", "block", "evaluation", *(("category",) if mixed else ())):
        table.add_column(name)
    for row in rows:
        interval = "" if row.speedup_low == row.speedup_high else f"{row.speedup_low:.3f}–{row.speedup_high:.3f}"
        light = light_text(row.speed_of_light, row.baseline_speed_of_light)
        others = (best_text(row.best_baseline, row.best_baseline_ms),) if has_others else ()
        rank = rank_text(row.rank, row.shared)
        figures = (rank, f"{row.speedup:.3f}", interval, f"{row.runtime_ms:.4g}", f"{row.baseline_ms:.4g}", *others, light)
        place = (row.author, row.submission, row.block, row.evaluation_id, *((row.category,) if mixed else ()))
        table.add_row(*map(cell, (*figures, *place)))
    return table


def _overall(board: OverallBoard) -> RenderableType:
    title = f"All problems · {board.case or 'no case'} · {board.device_name or 'unknown device'} · {board.tasks} tasks"
    table = Table(title=cell(title), title_justify="left")
    shown = [k for k in PASS_AT if any(k in row.pass_at for row in board.rows)]
    table.add_column("rank", justify="right")
    table.add_column("author", overflow="fold")
    for name in ("solved", *(f"fast_{p:g}" for p in FAST_P), "mean", *(f"pass@{k}" for k in shown), "medals", "tried", "samples"):
        table.add_column(name, justify="right")
    table.add_column("most frequent failures", overflow="fold")
    for row in board.rows:
        shares = [f"{row.fast[p]:.1%}" for p in FAST_P]
        passes = [f"{row.pass_at[k]:.1%}" if k in row.pass_at else "" for k in shown]
        causes = ", ".join(f"{item.category.value} {item.count}" for item in row.failures.counts[:3])
        figures = (
            solved_text(row.solved, row.reduced),
            *shares,
            f"{row.geometric_mean:.3f}",
            *passes,
            " ".join(map(str, row.medals)),
            row.attempted,
            row.samples,
        )
        table.add_row(*map(cell, (rank_text(row.rank, row.shared), row.author or "(no author)", *figures, causes)))
    return table


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _share(item: CategoryCount, failures: Failures) -> float:
    return item.count / failures.evaluations
