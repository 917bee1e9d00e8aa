"""One evaluation: the verdict and its evidence."""

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from fastapi import APIRouter, Path
from markupsafe import Markup

from db.foreign import foreign_history
from db.output.plot_roofline import roofline
from db.output.show import MAX_ORIGINS, evaluation_json, stage_rows
from db.queries.runs import of_ids
from db.storage.origin import Origin
from db.store import StoredEvaluation
from evaluator.diagnosis.feedback import Feedback, Section, feedback
from evaluator.problem.declaration import PRECISIONS
from evaluator.results.category import CATEGORIES, CategoryInfo
from evaluator.results.display.text import plain_block
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result
from web.charts import traces
from web.filters import MAX_ID
from web.site import NotFoundError, PageContent, Site, SiteOf, page

router = APIRouter()
MAX_LINES = 5000
"""Maximum lines of source that are shown; the JSON has all."""
LINES_BEFORE = 8
"""Lines shown above the important one at first."""
MAX_REMARKS = 500
_IN_BUNDLE = re.compile(r"(.+\.jsonl):\d+")
_OF_THE_RUN = ("--reference", "--db", "--headers", "--timeout")
"""Options of the first run that judging again needs."""
_EVERY_BLOCK = "--every-block"
_CLASS = re.compile(r"^class ModelNew\b", re.MULTILINE)
_TO_DO = "what to do"
_IN_HEAD = ("verdict", "cause", "meaning", _TO_DO)
"""Parts of the feedback that are in the head of the page."""
Number = Annotated[int, Path(ge=1, le=MAX_ID)]


@dataclass(frozen=True)
class Remark:
    """A remark at a line."""

    kind: str
    """The severity of a compiler's message, a tool of compute-sanitizer, `verdict` or `exception`."""
    text: str


@dataclass(frozen=True)
class Line:
    """One line of the submission."""

    number: int
    html: Markup
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class EvaluationPage(PageContent):
    """One evaluation."""

    stored: StoredEvaluation
    result: Result
    evidence: Evidence
    info: CategoryInfo
    feedback: Feedback
    lines: tuple[Line, ...]
    lines_left_out: int
    origins: tuple[Origin, ...]
    """The first ones."""
    stages: tuple[tuple[str, float, float, float], ...]
    """Name, seconds and share of each stage."""
    has_error_map: bool
    has_gross_error: bool
    has_clock_trace: bool
    has_roofline: bool
    to_do: tuple[str, ...]
    """The feedback's advice."""
    advice: tuple[Section, ...]
    """The feedback, without the parts in the head of the page."""
    verdict_line: int | None
    """The line that caused the verdict."""
    class_line: int | None
    """Where `ModelNew` begins."""
    run: int | None
    """The run that stored it."""
    rerun: str
    """A command that judges it again."""
    command: str | None
    """The run's command."""
    foreign: int
    """Number of verdicts of other harnesses on the submission."""

    @property
    def first_shown(self) -> int | None:
        """The first visible line of the source: a little above the line that caused the verdict, or above `ModelNew`."""
        line = self.verdict_line or self.class_line
        return line and max(line - LINES_BEFORE, self.evidence.first_line)


@page(router, "/evaluation/{number:int}", "evaluation.html", json_path="/evaluation/{number:int}.json")
def evaluation_page(site: SiteOf, number: Number) -> EvaluationPage:
    stored = find(site, number)
    result, evidence = stored.result, stored.result.evidence
    told = feedback(result, stored.source, evidence.first_line)
    lines = plain_block(stored.source).removesuffix("\n")
    return EvaluationPage(
        value=json.loads(evaluation_json(stored, with_source=True)) | {"line": told.line, "feedback": told.text},
        stored=stored,
        result=result,
        evidence=evidence,
        info=CATEGORIES[result.category],
        feedback=told,
        lines=tuple(_lines(site, stored, told, lines))[:MAX_LINES],
        lines_left_out=max(0, lines.count("\n") + 1 - MAX_LINES),
        origins=stored.origins[:MAX_ORIGINS],
        stages=tuple(stage_rows(result)),
        has_error_map=any(not item.passed and any(output.error_map for output in item.outputs) for item in evidence.rounds),
        has_gross_error=any(output.gross_error is not None for item in evidence.rounds for output in item.outputs),
        has_clock_trace=bool(traces(evidence.device_states)),
        has_roofline=evidence.profile is not None and roofline(evidence.profile) is not None,
        to_do=next((section.lines for section in told.sections if section.title == _TO_DO), (result.hint,) if result.hint else ()),
        advice=tuple(section for section in told.sections if section.title not in _IN_HEAD),
        verdict_line=told.line,
        class_line=_class_line(stored.source, evidence.first_line),
        run=next((row.run_id for row in of_ids(site.store, [number])), None),
        rerun=rerun_command(result, stored.command.words if stored.command else ()),
        command=shlex.join(stored.command.words) if stored.command else None,
        foreign=len(foreign_history(site.store, result.submission)),
    )


def find(site: Site, number: int) -> StoredEvaluation:
    """Raises NotFoundError."""
    stored = site.store.get(number)
    if stored is None:
        raise NotFoundError(f"There is no evaluation {number} in this database.")
    return stored


def rerun_command(result: Result, run: Sequence[str] = ()) -> str:
    """The command that judges the submission again, in the folder where it was judged first. `run` is the first run's command. A page is
    read in other folders and on other machines, so it does not say where Assay is."""
    bundled = _IN_BUNDLE.fullmatch(result.submission)
    words = ["judge", bundled[1] if bundled else result.submission, "--rerun"]
    options = {"--problem": result.problem, "--case": result.case, "--author": result.author}
    options["--dtype"] = result.precision if result.precision in PRECISIONS else None
    options["--protocol"] = None if result.evidence.untimed else result.protocol
    options["--baseline"] = ",".join(result.baselines) if len(result.baselines) > 1 else None
    words += [word for name, value in options.items() if value is not None for word in (name, value)]
    options_end = run.index("--") if "--" in run else len(run)
    given_names = set()
    for word, value in pairwise([*run[:options_end], ""]):
        name, joined, given = word.partition("=")
        # A command may abbreviate an option, if no other one begins so.
        name = next((each for each in (*_OF_THE_RUN, _EVERY_BLOCK) if len(name) > 2 and each.startswith(name)), name)
        given_names.add(name)
        if name in _OF_THE_RUN:
            words += [name, given if joined else value]
    if result.device:
        words += ["--device", result.device.split(":")[0]]
    if result.block is not None and (_EVERY_BLOCK in given_names or not run):
        words.append(_EVERY_BLOCK)
    if result.evidence.untimed:
        words.append("--no-timing")
    return f"assay {shlex.join(words)}"


def _class_line(source: str, first_line: int) -> int | None:
    found = _CLASS.search(source)
    return found and source.count("\n", 0, found.start()) + first_line


def _lines(site: Site, stored: StoredEvaluation, told: Feedback, code: str) -> Iterator[Line]:
    remarks = _remarks(stored.result, told)
    for number, html in enumerate(site.highlighter.lines(code), stored.result.evidence.first_line):
        yield Line(number, Markup(html), tuple(remarks.get(number, ())))


def _remarks(result: Result, told: Feedback) -> dict[int, list[Remark]]:
    """Remarks by line of the submission; the same message of several compilers appears once."""
    found: dict[int, list[Remark]] = defaultdict(list)
    diagnostics = [item for build in result.evidence.builds for item in build.diagnostics if item.source_line is not None]
    for item in diagnostics[:MAX_REMARKS]:
        remark = Remark(item.severity, item.message)
        if item.source_line is not None and remark not in found[item.source_line]:
            found[item.source_line].append(remark)
    for finding in result.evidence.sanitizer.findings[:MAX_REMARKS] if result.evidence.sanitizer else ():
        remark = Remark(finding.tool, finding.message)
        if finding.source_line is not None and remark not in found[finding.source_line]:
            found[finding.source_line].append(remark)
    exception = result.evidence.exception
    if exception is not None and exception.line is not None:
        found[exception.line].append(Remark("exception", f"{exception.type}: {exception.message}".partition("\n")[0]))
    if told.line is not None and told.line not in found:
        found[told.line].append(Remark("verdict", result.message or result.category.value))
    return found
