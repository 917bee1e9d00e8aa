"""The command line's output: a progress bar and each result as it comes, then a table, if it fits the screen, and the end."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from command.ending import Ending
from evaluator.results.advice import assay_command
from evaluator.results.category import Status
from evaluator.results.display.figures import MARK, light_text
from evaluator.results.display.progress import Work, long_work
from evaluator.results.display.screen import Screen
from evaluator.results.display.table import Column, Table
from evaluator.results.display.text import natural, plain_line
from evaluator.results.evidence import Evidence, TimingSide
from evaluator.results.result import Result
from evaluator.results.submission_name import shown_name

if TYPE_CHECKING:
    from db.queries.runs import EvaluationSummary
    from evaluator.job import Job

_QUARTILES = ("median_ms", "lower_quartile_ms", "upper_quartile_ms")
COLOURS = {Status.CORRECT: "green", Status.NOT_EVALUATED: "yellow", Status.DISQUALIFIED: "magenta"}
_COLOURS = {status.value: COLOURS.get(status, "red") for status in Status}
_COLUMNS = (
    Column("submission", kind="path"),
    Column("problem", 90, "name"),
    Column("status", 50),
    Column("category"),
    Column("time", 70, right=True),
    Column("baseline", 60, right=True),
    Column("speedup", 95, right=True),
    Column("95 % interval", 40, right=True),
    Column("of light (baseline)", 30, right=True),
)


class Display:
    """Shows a run on the terminal. `stage` may be called from any thread."""

    def __init__(self, to_stderr: bool) -> None:
        """`to_stderr` leaves standard output to JSON."""
        self._screen = Screen(stderr=to_stderr)
        self._work: Work | None = None
        self._read = 0
        self._begun: set[tuple[str, int | None]] = set()
        """Submissions that started before the first result came."""
        self._rows: list[Result] = []
        """The first results of this run: as many as fit the screen, and one more."""
        self._counts: Counter[Status] = Counter()
        self._ending = Ending()

    def say(self, text: str) -> None:
        self._print(Text(plain_line(text)))

    @contextlib.contextmanager
    def progress(self, total: int | None) -> Iterator[None]:
        """Show a progress bar meanwhile; `total` is None if the number of submissions is not known yet."""
        beside_output = self._screen.console.stderr
        with long_work("", total, screen=self._screen, after_s=0, beside_output=beside_output, colours=_COLOURS) as self._work:
            yield
        self._work = None

    def stage(self, job: "Job", stage: str) -> None:
        """A job has entered a stage."""
        if self._work:
            if not self._work.pace.count and (job.submission, job.block) not in self._begun:
                self._begun.add((job.submission, job.block))
                self._work.pace.begun()
            self._work.doing = plain_line(f"{job.submission}: {stage}")

    def read(self, count: int, *, due: int) -> None:
        """`count` more submissions have been read; `due` of them are to be judged. The total may grow."""
        self._read += count
        if self._work:
            self._work.drew(due, count - due)
            if self._work.total is not None:
                self._work.total = max(self._work.total, self._read)

    def read_all(self) -> None:
        """All submissions have been read."""
        if self._work:
            self._work.total = self._read

    def skip(self, found: "Sequence[EvaluationSummary]") -> None:
        """These evaluations of an earlier run hold in this one."""
        for each in found:
            self._ending.add(each)
        if self._work:
            self._work.advance(len(found), free=True)

    def result(self, number: int, result: Result) -> None:
        """A result has been stored under this number."""
        self._counts[result.status] += 1
        self._ending.add(result)
        if len(self._rows) <= self._screen.console.height:
            self._rows.append(_slim(result))
        self._print(_line(number, result))
        if self._work:
            self._work.tallies[result.status.value] += 1
            self._work.advance(free=result.status is Status.REJECTED)

    def summary(self, skipped: int, database: str, chosen: str, time_use: Sequence[str] = ()) -> None:
        """Show the table, if all fits the screen, the counts of evaluated and skipped submissions, their figures, and what to do.

        chosen: arguments of `assay list` that list this run's evaluations. time_use: lines that say where the time went.
        """
        total = sum(self._counts.values())
        counted = ", ".join(f"{count} {status}" for status, count in self._counts.most_common())
        told: list[Text | Table] = [Text(plain_line(f"{total} evaluated{f': {counted}' if counted else ''}; stored in {database}"))]
        if skipped:
            same = "same source, problem, case, device and version"
            told.append(Text(f"{total + skipped} in all, {skipped} already judged and skipped ({same}); --rerun judges them again"))
        told += [*self._ending.items(), *map(Text, time_use)]
        if total > 1:
            listed = f"All of this run: {assay_command()} list {chosen} --limit {total}; of one cause: --category NAME"
            told.append(Text(listed, "dim", no_wrap=True))
        rows = sorted(self._rows, key=lambda row: (natural(row.submission), row.block or 0))
        text = self._screen.text(Text(""), _table(rows), Text(""), *told) if rows else ""
        if not 0 < text.count("\n") <= self._screen.console.height:
            text = self._screen.text(Text(""), *told)
        self._screen.console.file.write(text)

    def _print(self, line: Text) -> None:
        self._screen.print(line)


def _line(number: int, result: Result) -> Text:
    """A result in one line, as it comes."""
    line = Text(f"#{number} ", style="dim")
    line.append(f"{result.status}/{result.category} ", style=_COLOURS[result.status])
    line.append(plain_line(shown_name(result.submission, result.block)), style="bold")
    line.append(f" {speedup}" if (speedup := _speedup(result)) else "", style="default")
    said = "; ".join(filter(None, (result.message, *_remarks(result))))
    return line.append(f": {plain_line(said)}" if said else "", style="default")


def _table(results: list[Result]) -> Table:
    table = Table(_COLUMNS)
    for result in results:
        colour = _COLOURS[result.status]
        status, category = Text(result.status, colour), Text(result.category, colour)
        times = (_milliseconds(result.runtime_ms), _baseline(result), _speedup(result), _interval(result))
        name, light = shown_name(result.submission, result.block), light_text(result.speed_of_light, result.baseline_speed_of_light)
        table.add(name, result.problem, status, category, *times, light)
    return table


def _slim(result: Result) -> Result:
    """The part of a result that the table shows. It leaves out the samples, because there are many."""
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
    """The time of `eager`, and that of the best baseline if it is another."""
    best = result.best_baseline
    if best in (None, "eager"):
        return _milliseconds(result.baseline_ms)
    return f"{_milliseconds(result.baseline_ms)} ({best} {_milliseconds(result.baselines[best][0])})"


def _speedup(result: Result) -> str:
    return "" if result.speedup is None else f"{result.speedup:.2f}×{MARK if _disturbance(result) else ''}"


def _interval(result: Result) -> str:
    """The 95 % confidence interval of the speedup, if known and wider than a digit."""
    low, high = result.speedup_interval or (0.0, 0.0)
    return f"{low:.2f}–{high:.2f}" if f"{low:.2f}" != f"{high:.2f}" else ""


def _remarks(result: Result) -> Iterator[str]:
    """Remarks on a result's times."""
    if disturbance := _disturbance(result):
        yield disturbance
    timing = result.evidence.timing
    if timing is not None and timing.fallback:
        yield f"timed by the protocol {timing.protocol}: {timing.fallback}"


def _disturbance(result: Result) -> str:
    conditions = result.evidence.conditions
    return conditions.remark if conditions is not None and result.speedup is not None else ""


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.4g} ms"
