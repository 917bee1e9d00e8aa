"""The output of the database commands, as text and as JSON."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from enum import Enum
from itertools import groupby
from typing import Any

from rich.text import Text

from db.authorship import AuthorChange
from db.foreign import ForeignHistoryRow
from db.queries.compare import AuthorComparison
from db.queries.history import HistoryRow
from db.queries.leaderboard import CategoryCount, Failures, LeaderboardRow
from db.queries.overall import OverallBoard
from db.queries.statistics import FAILURE_SPEEDUP, FAST_P, PASS_AT
from evaluator.results.advice import advice, runnable
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.display.figures import MARK, MARK_TEXT, all_right_text, best_text, count_text, light_text, rank_text, solved_text
from evaluator.results.display.screen import rendered
from evaluator.results.display.table import Column, Table
from evaluator.results.display.text import cell, plain_line

_LONGEST_LABEL = 16
"""Maximum characters of an author's name as a column heading; headings are never cut."""
_BOARD = (
    Column("rank", right=True),
    Column("speedup", right=True),
    Column("95 % interval", 60, right=True),
    Column("runtime ms", 50, right=True),
    Column("baseline ms", 40, right=True),
    Column("best baseline ms", 30, right=True),
    Column("of light (baseline)", 20, right=True),
    Column("author", 90, "name"),
    Column("submission", kind="path"),
    Column("block", 75, right=True),
    Column("evaluation", 80, right=True),
    Column("category", 70),
)
_FAILURES = (
    Column("status", 50),
    Column("category"),
    Column("meaning", 40, "text"),
    Column("count", right=True),
    Column("share", 60, right=True),
)
_HISTORY = (
    Column("evaluation", right=True),
    Column("started", 60),
    Column("block", 50, right=True),
    Column("problem", 70, "name"),
    Column("case", 40),
    Column("device", 35, "name"),
    Column("verdict"),
    Column("speedup", 90, right=True),
    Column("source", 20),
    Column("evaluator", 10),
    Column("state", 80),
)
_FOREIGN = (
    Column("harness", 50),
    Column("imported", 40),
    Column("problem", 80, "name"),
    Column("sample", 60, right=True),
    Column("verdict"),
    Column("time ms", 70, right=True),
    Column("source", 30),
)


def leaderboard_text(rows: Sequence[LeaderboardRow]) -> str:
    """One table per board; a single message if nothing is ranked."""
    if not rows:
        return runnable("Nothing is ranked: no matching evaluation is correct/ok. `assay failures` says why.\n")
    boards = groupby(rows, key=lambda row: (row.problem, row.case, row.device_name, row.precision, row.protocol))
    return rendered(*(_board(board, list(members)) for board, members in boards), *_doubts(row.result_id for row in rows if row.disturbed))


def leaderboard_json(rows: Sequence[LeaderboardRow]) -> str:
    """An array with one object per row; fields as in `LeaderboardRow`."""
    return dump(rows)


def overall_text(boards: Sequence[OverallBoard]) -> str:
    """One table per board, with a row per author; a single message if there is none."""
    if not boards:
        return "No evaluation matches.\n"
    rule = f"{FAILURE_SPEEDUP:g} for each unsolved task"
    note = Text(f"fast_p: share of all tasks solved and faster than p. Mean: geometric, of the best speedups, {rule}.", style="dim")
    return rendered(*map(_overall, boards), note)


def failures_text(failures: Failures, chosen: str = "") -> str:
    """A table of causes and how to fix each; a single message if there is none. `chosen`: the filters, as words of `assay list`."""
    if not failures.evaluations:
        return "No evaluation matches.\n"
    if not failures.counts:
        return f"{all_right_text(failures.evaluations)}\n"
    table = Table(_FAILURES, f"Not correct/ok, of {count_text(failures.evaluations, 'evaluation')}")
    for item in failures.counts:
        table.add(item.status.value, item.category.value, CATEGORIES[item.category].meaning, item.count, f"{_share(item, failures):.1%}")
    return rendered(table, *advice({item.category: item.count for item in failures.counts}, chosen))


def failures_json(failures: Failures) -> str:
    """`evaluations`, and `counts` with status, category, count and share (of all matching evaluations)."""
    counts = [
        {"status": item.status.value, "category": item.category.value, "count": item.count, "share": _share(item, failures)}
        for item in failures.counts
    ]
    return dump({"evaluations": failures.evaluations, "counts": counts})


def comparison_text(comparison: AuthorComparison) -> str:
    """A row per board, and the sums."""
    first, second = comparison.first, comparison.second
    if not comparison.boards:
        return rendered(cell(f"{first} and {second} have no board in common."))
    short = first != second and max(len(first), len(second)) <= _LONGEST_LABEL
    labels = (first, second) if short else ("first", "second")
    table = Table(_comparison_columns(*labels), f"{first} against {second}")
    winner = {"first": labels[0], "second": labels[1], "tie": "=", "neither": ""}
    for board in comparison.boards:
        sides = (_doubtful(board.first, board.first_disturbed), _doubtful(board.second, board.second_disturbed))
        figures = (*sides, _figure(board.ratio))
        table.add(board.problem, board.case, board.device_name, board.precision, *figures, winner[board.outcome])
    mean = "no board solved by both"
    if comparison.ratio is not None:
        mean = f"ratio {comparison.ratio:.4g}, 95 % interval {comparison.ratio_low:.4g} to {comparison.ratio_high:.4g}"
    counts = f"{comparison.wins} won, {comparison.losses} lost, {comparison.ties} tied"
    marked = [
        number
        for board in comparison.boards
        for number, disturbed in ((board.first_id, board.first_disturbed), (board.second_id, board.second_disturbed))
        if disturbed
    ]
    return rendered(table, cell(f"{counts}; {mean}; sign test p = {comparison.p_value:.3g}"), *_doubts(marked))


def history_text(submission: str, rows: Sequence[HistoryRow]) -> str:
    """A row per evaluation; the current one is marked."""
    table = Table(_HISTORY, submission)
    for row in rows:
        started = row.started_at.isoformat(sep=" ", timespec="seconds")
        place = (row.block, row.problem, row.case, row.device_name)
        mark = "current" if row.is_current else ""
        verdict = f"{row.status}/{row.category}"
        speedup = _doubtful(row.speedup, row.disturbed)
        table.add(row.evaluation_id, started, *place, verdict, speedup, row.source_sha256[:12], row.evaluator_version, mark)
    return rendered(table, *_doubts(row.evaluation_id for row in rows if row.disturbed))


def foreign_text(submission: str, rows: Sequence[ForeignHistoryRow]) -> str:
    """A row per verdict of another harness."""
    table = Table(_FOREIGN, f"{submission}, other harnesses")
    for row in rows:
        verdict = "correct" if row.correct else "incorrect" if row.compiled else "did not compile"
        imported = row.imported_at.isoformat(sep=" ", timespec="seconds")
        place = (f"level {row.level}, {row.problem_number}", row.sample_id)
        table.add(row.harness, imported, *place, verdict, _figure(row.runtime_ms), (row.source_sha256 or "")[:12])
    return rendered(table)


def author_change_text(change: AuthorChange) -> str:
    """Which submissions got another author, and which had it already."""
    told = []
    if change.submissions:
        before = ", ".join(f"{each.submissions} by {each.author or '(no author)'}" for each in change.before)
        verb, given = "is" if change.submissions == 1 else "are", count_text(change.evaluations, "evaluation")
        told.append(f"{count_text(change.submissions, 'submission')} ({given}) {verb} now by {change.author}; before: {before}")
    if change.unchanged:
        verb = "was" if change.unchanged == 1 else "were"
        told.append(f"{count_text(change.unchanged, 'submission')} already {verb} by {change.author}")
    return "".join(plain_line(line) + "\n" for line in told)


def dump(value: Any) -> str:
    """Indented JSON of dataclasses and plain values, with a final newline."""
    return json.dumps(value, indent=2, allow_nan=False, default=_plain) + "\n"


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "__dataclass_fields__"):
        return asdict(value)  # type: ignore[call-overload]
    raise TypeError(f"{type(value).__name__} is not for JSON")


def _board(board: tuple[str, str | None, str, str | None, str | None], rows: Sequence[LeaderboardRow]) -> Table:
    problem, case, device_name, precision, protocol = board
    title = [problem, case or "no case", device_name or "unknown device"]
    title += [name for name in (precision, protocol) if name not in (None, "own")]
    table = Table(_BOARD, " · ".join(title))
    # Results of reduced precision are marked if they are ranked too.
    mixed = any(row.category != Category.OK.value for row in rows)
    for row in rows:
        interval = "" if row.speedup_low == row.speedup_high else f"{row.speedup_low:.3f}–{row.speedup_high:.3f}"
        times = (f"{row.runtime_ms:.4g}", f"{row.baseline_ms:.4g}", best_text(row.best_baseline, row.best_baseline_ms))
        light = light_text(row.speed_of_light, row.baseline_speed_of_light)
        place = (row.author, row.submission, row.block, row.evaluation_id, row.category if mixed else None)
        table.add(rank_text(row.rank, row.shared), _doubtful(row.speedup, row.disturbed), interval, *times, light, *place)
    return table


def _overall(board: OverallBoard) -> Table:
    columns = (
        Column("rank", right=True),
        Column("author", kind="name"),
        Column("solved", 90, right=True),
        *(Column(f"fast_{p:g}", 85 if p == 1 else 65, right=True) for p in FAST_P),
        Column("mean", 95, right=True),
        *(Column(f"pass@{k}", 70, right=True) for k in PASS_AT),
        Column("medals", 40, right=True),
        Column("tried", 60, right=True),
        Column("samples", 50, right=True),
        Column("most frequent failures", 30, "text"),
    )
    table = Table(columns, f"All problems · {board.case or 'no case'} · {board.device_name or 'unknown device'} · {board.tasks_text}")
    for row in board.rows:
        shares = [f"{row.fast[p]:.1%}" for p in FAST_P]
        passes = [f"{row.pass_at[k]:.1%}" if k in row.pass_at else "" for k in PASS_AT]
        causes = ", ".join(f"{item.category.value} {item.count}" for item in row.failures.counts[:3])
        figures = (solved_text(row.solved, row.reduced), *shares, f"{row.geometric_mean:.3f}", *passes, " ".join(map(str, row.medals)))
        table.add(rank_text(row.rank, row.shared), row.author or "(no author)", *figures, row.attempted, row.samples, causes)
    return table


def _comparison_columns(first: str, second: str) -> tuple[Column, ...]:
    return (
        Column("problem", kind="path"),
        Column("case", 30),
        Column("device", 40, "name"),
        Column("precision", 20),
        Column(first, right=True),
        Column(second, right=True),
        Column("ratio", 60, right=True),
        Column("faster", 50),
    )


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _doubtful(speedup: float | None, disturbed: str) -> str:
    """The speedup, marked if its times were disturbed."""
    return _figure(speedup) + (MARK if disturbed else "")


def _doubts(marked: Iterable[int | None]) -> list[Text]:
    """What the mark means, if it is shown. marked: the evaluations with it."""
    numbers = dict.fromkeys(marked)
    first = " of the first" if len(numbers) > 1 else ""
    return [Text(f"{MARK_TEXT}; `show {number}` says what{first}.", style="dim") for number in [*numbers][:1]]


def _share(item: CategoryCount, failures: Failures) -> float:
    return item.count / failures.evaluations
