"""What the command line shows: a progress bar during a run, then a table and the reasons."""

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from evaluator.results.category import Status
from evaluator.results.evidence import Evidence, TimingSide
from evaluator.results.figures import light_text
from evaluator.results.result import Result
from evaluator.results.text import PIPE_WIDTH, cell, plain_line

if TYPE_CHECKING:
    from evaluator.job import Job

MAX_ROWS = 200
"""Results in the summary, the first that came; the rest is in the database."""
_QUARTILES = ("median_ms", "lower_quartile_ms", "upper_quartile_ms")
PIPED_EVERY_S = 10.0
"""Between two lines about the progress where there is no terminal for a bar."""
MARK = "*"
"""Behind a speedup whose times were disturbed."""
COLOURS = {Status.CORRECT: "green", Status.NOT_EVALUATED: "yellow", Status.DISQUALIFIED: "magenta"}


class Display:
    """A person's view of a run. `stage` may be called from any thread."""

    def __init__(self, to_stderr: bool) -> None:
        """`to_stderr` leaves standard output to JSON."""
        self._console = Console(stderr=to_stderr)
        if not self._console.is_terminal and "COLUMNS" not in os.environ:
            self._console = Console(stderr=to_stderr, width=PIPE_WIDTH)
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._rows: list[tuple[int, Result]] = []
        self._counts: Counter[Status] = Counter()

    def say(self, text: str) -> None:
        self._console.print(Text(plain_line(text)))

    @contextlib.contextmanager
    def progress(self, total: int | None) -> Iterator[None]:
        """Show a progress bar meanwhile; `total` None where the number of submissions is not known yet."""
        columns = (
            SpinnerColumn(),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[doing]}", markup=False),
        )
        with Progress(*columns, console=self._console, transient=True) as self._progress:
            self._task = self._progress.add_task("", total=total, doing="")
            ended = threading.Event()
            teller = threading.Thread(target=self._tell, args=(self._progress, ended), daemon=True)
            if not self._console.is_terminal:
                teller.start()
            try:
                yield
            finally:
                ended.set()
                if teller.ident is not None:
                    teller.join(1.0)
        self._progress = None

    def _tell(self, progress: Progress, ended: threading.Event) -> None:
        """Print a line about the progress every PIPED_EVERY_S seconds, until there is no reader for it.

        Not by Rich: where its reader has gone, that closes standard output for the whole process.
        """
        while not ended.wait(PIPED_EVERY_S):
            task = progress.tasks[0]
            of = "" if task.total is None else f" of {task.total:.0f}"
            doing = f"; {task.fields['doing']}" if task.fields["doing"] else ""
            try:
                print(f"{task.elapsed or 0.0:.0f} s: {task.completed:.0f}{of} done{doing}", file=self._console.file, flush=True)
            except (OSError, ValueError):
                return

    def stage(self, job: "Job", stage: str) -> None:
        """A job has entered a stage."""
        if self._progress and self._task is not None:
            self._progress.update(self._task, doing=plain_line(f"{PurePath(job.submission).name}: {stage}"))

    def read(self, count: int, *, all_of_them: bool = False) -> None:
        """So many submissions have been read: the end of the progress bar is there, or further on."""
        if self._progress and self._task is not None:
            known = self._progress.tasks[0].total
            if all_of_them or (known is not None and count > known):
                self._progress.update(self._task, total=count)

    def skip(self, count: int) -> None:
        """So many submissions need no judging."""
        self._advance(count)

    def result(self, number: int, result: Result) -> None:
        """A result has been stored under this number."""
        self._counts[result.status] += 1
        if len(self._rows) < MAX_ROWS:
            self._rows.append((number, _slim(result)))
        self._advance()

    def _advance(self, count: int = 1) -> None:
        if self._progress and self._task is not None:
            self._progress.advance(self._task, count)

    def summary(self, skipped: int, database: str) -> None:
        """The table, a line for each failure, and the counts of what was evaluated and of what had been judged already."""
        rows = sorted(self._rows, key=lambda row: (row[1].submission, row[1].block or 0))
        if rows:
            self._console.print(_table([result for _, result in rows]))
        for number, result in rows:
            if result.message:
                self._console.print(_reason(number, result, result.message), soft_wrap=True)
            if remark := _remark(result):
                self._console.print(_reason(number, result, f"{MARK} {remark}"), soft_wrap=True)
            timing = result.evidence.timing
            if timing is not None and timing.fallback:
                self._console.print(_reason(number, result, f"timed by the protocol {timing.protocol}: {timing.fallback}"), soft_wrap=True)
        total = sum(self._counts.values())
        if total > len(rows):
            self.say(f"{len(rows)} of {total} are shown; all of them: assay list --limit {total}")
        counted = ", ".join(f"{count} {status}" for status, count in self._counts.most_common())
        self.say(f"{total} evaluated{f': {counted}' if counted else ''}; stored in {database}")
        if skipped:
            same = "same source, problem, case, device and version"
            self.say(f"{total + skipped} in all, {skipped} already judged and skipped ({same}); --rerun judges them again")


def _table(results: list[Result]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("submission", "problem", "status", "category"):
        table.add_column(name, overflow="fold")
    for name in ("time", "baseline", "speedup", "of light (baseline)"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        colour = COLOURS.get(result.status, "red")
        table.add_row(
            cell(_name(result)),
            cell(result.problem),
            Text(result.status, style=colour),
            Text(result.category, style=colour),
            _milliseconds(result.runtime_ms),
            _baseline(result),
            _speedup(result),
            light_text(result.speed_of_light, result.baseline_speed_of_light),
        )
    return table


def _reason(number: int, result: Result, text: str) -> Text:
    line = Text(f"#{number} ", style="dim")
    line.append(plain_line(_name(result)), style="bold")
    return line.append(f": {plain_line(text)}", style="default")


def _name(result: Result) -> str:
    return result.submission if result.block is None else f"{result.submission} [{result.block}]"


def _slim(result: Result) -> Result:
    """What of a result the summary shows: without samples, of which there are many."""
    timing = result.evidence.timing
    if timing is not None:
        sides: dict[str, Any] = {"candidate": _slim_side(timing.candidate), "baseline": _slim_side(timing.baseline)}
        sides["alone"] = timing.alone and _slim_side(timing.alone)
        timing = timing.model_copy(update=sides | {"others": {kind: _slim_side(side) for kind, side in timing.others.items()}})
    shown = Evidence(light=result.evidence.light, conditions=result.evidence.conditions, timing=timing)
    return result.model_copy(update={"evidence": shown, "environment": None})


def _slim_side(side: TimingSide) -> TimingSide:
    return TimingSide(**{name: getattr(side, name) for name in _QUARTILES}, samples_ms=())


def _baseline(result: Result) -> str:
    """The baseline's time, and that of the best one where that is another."""
    best = result.best_baseline
    if best in (None, "eager"):
        return _milliseconds(result.baseline_ms)
    return f"{_milliseconds(result.baseline_ms)} ({best} {_milliseconds(result.baselines[best][0])})"


def _speedup(result: Result) -> str:
    """With what holds it with 95 % confidence, where that is known."""
    if result.speedup is None:
        return ""
    low, high = result.speedup_interval or (result.speedup, result.speedup)
    interval = f" ({low:.2f}–{high:.2f})" if f"{low:.2f}" != f"{high:.2f}" else ""
    return f"{result.speedup:.2f}×{MARK if _remark(result) else ''}{interval}"


def _remark(result: Result) -> str:
    """What to know of the times of a result that has some."""
    conditions = result.evidence.conditions
    return conditions.remark if conditions is not None and result.speedup is not None else ""


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.4g} ms"
