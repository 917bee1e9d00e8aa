"""The output of `assay problems`: a table of problems, and results of checks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from linecache import checkcache, getline
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from evaluator.results.display.screen import rendered
from evaluator.results.display.table import Column, Table
from evaluator.results.display.text import cell, plain_line

if TYPE_CHECKING:
    from evaluator.judge.problem_check.check_result import ProblemCheck
    from evaluator.problem.declaration import Declaration, Floor
    from evaluator.problem.execute import ProblemError
    from evaluator.problem.kept_figures import KeptCheck
    from evaluator.problem.problem import Problem


_LISTED = (
    Column("problem", kind="path"),
    Column("level", 60),
    Column("tags", 20, "text"),
    Column("cases", 50, "text"),
    Column("dtype", 40),
    Column("inputs", 45),
    Column("floor", 30, "text"),
    Column("admission", 70, "text"),
    Column("description", 80, "text"),
)
_CHECKED = (
    Column("problem", kind="path"),
    Column("case", 80),
    Column("verdict"),
    Column("floor", 30, right=True),
    Column("reference", 40, right=True),
    Column("reason", 90, "text"),
)


@dataclass(frozen=True)
class Listed:
    """A problem, and its facts without running it."""

    problem: "Problem"
    input_bytes: int | None
    """Size of one call in the `full` case; None if the inputs can't be made on the meta device."""
    admissions: "Sequence[KeptCheck]"
    """Results of its checks, in any case and on any device."""


@dataclass(frozen=True)
class Broken:
    """A problem's file that can't be used."""

    name: str
    error: "ProblemError"


@dataclass(frozen=True)
class Checked:
    """One case of a problem, checked."""

    admission: "ProblemCheck"
    duration_s: float


def listing(found: "Sequence[Listed | Broken]") -> str:
    """One line per problem."""
    table = Table(_LISTED)
    for each in found:
        if isinstance(each, Broken):
            table.add(each.name, *["–"] * 6, Text("broken", style="red"), each.error)
            continue
        declared = each.problem.declaration
        told = (
            *(each.problem.name, declared.level or "–", ", ".join(declared.tags), _cases(declared)),
            *(declared.dtype or "own", _size(each.input_bytes), _floor(declared.floor)),
        )
        table.add(*told, _state(each.admissions), declared.description)
    return rendered(table)


def _cases(declared: "Declaration") -> str:
    """Names of cases, and the number of workloads."""
    return ", ".join([*declared.cases, *([f"{len(declared.workloads)} workloads"] if declared.workloads else [])])


def listing_record(listed: "Listed | Broken") -> dict[str, Any]:
    """One problem for JSON."""
    if isinstance(listed, Broken):
        return {"problem": listed.name, "file": str(listed.error.path), "error": str(listed.error)}
    declared = listed.problem.declaration
    return {
        "problem": listed.problem.name,
        "file": str(listed.problem.path),
        "sha256": listed.problem.sha256,
        "cases": listed.problem.case_names,
        **declared.model_dump(mode="json", include={"description", "level", "tags", "source", "dtype", "tolerance", "floor"}),
        "input_bytes": listed.input_bytes,
        "admissions": [
            {"case": kept.subject.case, "device": kept.subject.device_name, "precision": kept.subject.precision}
            | {"admitted": kept.admitted, "reasons": kept.reasons}
            for kept in listed.admissions
        ],
    }


def report(checked: "Sequence[Checked | Broken]") -> str:
    """A table of the checked cases; then details and fixes for the refused ones, or for a single one."""
    table = Table(_CHECKED)
    for each in checked:
        if isinstance(each, Broken):
            table.add(each.name, "–", _verdict(False), None, None, each.error)
            continue
        admission = each.admission
        reasons = "; ".join([*(finding.message for finding in admission.findings), *(f"note: {note}" for note in admission.notes)])
        times = [None if took is None else f"{took:.4g} ms" for took in (admission.floor_ms, admission.reference_ms)]
        table.add(admission.problem, admission.case, _verdict(admission.admitted), *times, reasons)
    details = [_details(each) for each in checked if len(checked) == 1 or isinstance(each, Broken) or not each.admission.admitted]
    refused = sum(not is_admitted(each) for each in checked)
    return rendered(table, *details, f"{len(checked)} checked, {refused} refused as degenerate or unsound")


def is_admitted(checked: "Checked | Broken") -> bool:
    """Whether it may be used to judge submissions."""
    return isinstance(checked, Checked) and checked.admission.admitted


def checked_line(checked: "Checked | Broken") -> Text:
    """One case in one line, for progress."""
    line = _verdict(is_admitted(checked)).append(" ", style="default")
    if isinstance(checked, Broken):
        return line.append(plain_line(f"{checked.name}: {checked.error}"), style="default")
    admission = checked.admission
    return line.append(plain_line(f"{admission.problem}, case {admission.case}, {checked.duration_s:.1f} s"), style="default")


def check_record(checked: "Checked | Broken") -> dict[str, Any]:
    """One case for JSON."""
    if isinstance(checked, Broken):
        finding = {"check": "file", "answer": "", "message": str(checked.error)}
        return {"problem": checked.name, "case": None, "admitted": False, "line": checked.error.line, "findings": [finding]}
    return {**asdict(checked.admission), "admitted": checked.admission.admitted, "duration_s": checked.duration_s}


def _details(checked: "Checked | Broken") -> RenderableType:
    from evaluator.judge.limits import DRAWS
    from evaluator.judge.problem_check.check_result import CHECKS
    from evaluator.judge.problem_check.trivial_answers import ANSWERS

    rows = RichTable(box=None, show_header=False, padding=(0, 2, 0, 0))
    if isinstance(checked, Broken):
        title = checked.name
        for line, text in excerpt(checked.error):
            rows.add_row(Text(str(line), style="bold" if line == checked.error.line else ""), cell(text))
        rows.add_row(Text("→"), Text(CHECKS["file"]))
        return Group(Text(""), Text(title, style="bold"), Padding(rows, (0, 0, 1, 2), expand=False))
    admission = checked.admission
    title = f"{admission.problem}, case {admission.case}, on {admission.device}: {checked.duration_s:.1f} s"
    for position, described in enumerate(admission.inputs):
        rows.add_row(Text(f"input {position}"), cell(described))
    for position, described in enumerate(admission.outputs):
        rows.add_row(Text(f"output {position}"), cell(described))
    if admission.distributions:
        rows.add_row(Text("drawn from"), cell(", ".join(admission.distributions)))
    if admission.passed:
        rows.add_row(Text("passed"), cell(", ".join(admission.passed)))
    if "trivial_answer" in admission.passed:
        rows.add_row(Text("rejects"), cell(f"{', '.join(ANSWERS)} ({DRAWS} draws)"))
    for finding in admission.findings:
        rows.add_row(Text(finding.check, style="red"), cell(finding.message))
    for note in admission.notes:
        rows.add_row(Text("note", style="yellow"), cell(note))
    for check in dict.fromkeys(finding.check for finding in admission.findings):
        rows.add_row(Text("→"), Text(CHECKS[check]))
    return Group(Text(""), Text(plain_line(title), style="bold"), Padding(rows, (0, 0, 1, 2), expand=False))


def excerpt(error: "ProblemError", around: int = 2) -> list[tuple[int, str]]:
    """Numbered lines of the file around the one that breaks the rule; empty if no line does."""
    if error.line is None:
        return []
    checkcache(str(error.path))
    lines = range(max(error.line - around, 1), error.line + around + 1)
    return [(line, text.rstrip("\n")) for line in lines if (text := getline(str(error.path), line))]


def _verdict(admitted: bool) -> Text:
    return Text("admitted", style="green") if admitted else Text("refused", style="red")


def _state(admissions: "Sequence[KeptCheck]") -> Text:
    """Results of checks, in short."""
    if not admissions:
        return Text("unchecked", style="dim")
    text = Text()
    for admitted in (False, True):
        told = [_subject(kept) for kept in admissions if kept.admitted is admitted]
        if told:
            text.append("; " if text else "")
            text.append_text(_verdict(admitted))
            text.append(f" ({plain_line(', '.join(told))})")
    return text


def _subject(kept: "KeptCheck") -> str:
    subject = kept.subject
    return " ".join([subject.case, *([subject.precision] if subject.precision else []), "on", subject.device_name])


def _size(count: int | None) -> str:
    if count is None:
        return "–"
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def _floor(floor: "Floor | None") -> str:
    """The minimum of a call, in short."""
    if floor is None:
        return "writes all"
    reads, writes = (each if isinstance(each, str) else ", ".join(map(str, each)) for each in (floor.reads, floor.writes))
    parts = [f"reads {reads}" if reads else "", f"writes {writes}" if writes else ""]
    parts += [f"bytes {floor.bytes}"] if floor.bytes != "0" else []
    parts += [floor.operations] if floor.operations != "0" else []
    return "; ".join(part for part in parts if part)
