"""Feedback on one evaluation, for the person or model that fixes the submission: short, the most important first.

It reveals nothing of the judge's machine: paths lose their folders, and only the submission's code is quoted. Lines have no line breaks or
control characters.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evaluator.build.diagnostics.messages import NOT_ITS_OWN, errors
from evaluator.diagnosis.cause import line_of
from evaluator.diagnosis.notes import profile_notes
from evaluator.diagnosis.notes.kernel_notes import by_time, timed
from evaluator.diagnosis.notes.sanitizer_notes import told
from evaluator.diagnosis.notes.speed_notes import speed_notes
from evaluator.diagnosis.notes.static_notes import notes
from evaluator.diagnosis.rules.output_rules import other_parameters
from evaluator.diagnosis.words import cut_middle, extent, plain_name, without_paths
from evaluator.results.category import CATEGORIES, Category, Status
from evaluator.results.display.figures import percent
from evaluator.results.display.text import plain_line
from evaluator.results.evidence import BuildEvidence, ChangedInputsEvidence, Diagnostic, ErrorFigures, Evidence, LaunchRecord
from evaluator.results.result import Result

log = logging.getLogger(__name__)

MAX_CHARS = 4000
MAX_LINE_CHARS = 400
MAX_TITLE_CHARS = 120
TAB_WIDTH = 4
MAX_DIAGNOSTICS = 5
MAX_KERNELS = 8
MAX_LIBRARY_KERNELS = 3
MAX_TRACEBACK_LINES = 12
UNREAD = (Category.UNREADABLE_FILE, Category.TOO_LARGE, Category.NO_CODE_BLOCK, Category.SYNTAX_ERROR)
AROUND = 2
"""Lines of code shown above and below the one that caused the verdict."""


@dataclass(frozen=True)
class Section:
    """One part of the feedback, under a title."""

    title: str
    lines: tuple[str, ...]
    verbatim: bool = False
    """Whether the lines are code, whose spaces matter."""


@dataclass(frozen=True)
class Feedback:
    """The feedback on one evaluation."""

    line: int | None
    """The line of the submission that caused the verdict; None if no single line did."""
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """Plain text of at most MAX_CHARS characters. The last sections are dropped first."""
        parts: list[str] = []
        room = MAX_CHARS
        for section in self.sections:
            part = f"{section.title}: {section.lines[0]}" if len(section.lines) == 1 else "\n  ".join([f"{section.title}:", *section.lines])
            if len(part) + 1 > room:
                if room > MAX_LINE_CHARS:
                    parts.append(cut_middle(part, room - 1))
                break
            parts.append(part)
            room -= len(part) + 1
        return "\n".join(parts)

    def markdown(self, title: str) -> str:
        """All sections, as a section of a Markdown document."""
        parts = [f"## {_escaped(plain_line(title))}"]
        for section in self.sections:
            heading = _escaped(section.title)
            if section.verbatim:
                fence = _fence(section.lines)
                parts.append("\n".join([f"**{heading}**", "", f"{fence}text", *section.lines, fence]))
            elif len(section.lines) == 1:
                parts.append(f"**{heading}:** {_escaped(section.lines[0])}")
            else:
                parts.append("\n".join([f"**{heading}:**", "", *(f"- {_escaped(line)}" for line in section.lines)]))
        return "\n\n".join(parts) + "\n"


def feedback(result: Result, code: str, first_line: int = 1) -> Feedback:
    """Feedback on the result of `code`, which begins on line `first_line` of its file.

    If an error occurs, it is logged and the feedback is empty: hostile code must not stop the report on other results.
    """
    try:
        return _feedback(result, code, first_line)
    except Exception:
        log.exception("the feedback on %s is left empty", plain_line(result.submission))
        return Feedback(None, ())


def record(number: int, result: Result, told: Feedback) -> dict[str, Any]:
    """The JSON record of an evaluation, for the command line and for the service."""
    return {"id": number, **result.summary(), "line": told.line, "feedback": told.text}


def _feedback(result: Result, code: str, first_line: int) -> Feedback:
    line, evidence = line_of(result, code, first_line), result.evidence
    cause = Section("cause" if result.message else "meaning", (result.message or CATEGORIES[result.category].meaning,))
    found = [Section("verdict", (f"{result.status.value}/{result.category.value}",)), cause]
    if line is not None:
        found += _excerpt(code, first_line, line)
    found += [*_diagnostics(result), *_traceback(result), *_figures(evidence)]
    if evidence.sanitizer is not None:
        found.append(Section(f"compute-sanitizer, on the case {evidence.sanitizer.case}", told(evidence.sanitizer)))
    hint = result.hint or CATEGORIES[result.category].hint
    found.append(Section("what to do", (*_own_parameters(evidence), *([hint] if hint else []))))
    if result.status is Status.CORRECT:
        found.append(Section("on other inputs, which decide no verdict", tuple(map(_other_inputs, _broken_by(evidence)))))
        found.append(Section("speed", speed_notes(result)))
    if evidence.profile is not None:
        case = f", on the case {evidence.profile.case}" if evidence.profile.case else ""
        found.append(Section(f"profile by Nsight Compute{case}", profile_notes.told(evidence.profile)))
    found += [*_launches(evidence), *_notes(result, code, first_line)]
    return Feedback(line, tuple(_clean(section) for section in found if section.lines))


def _own_parameters(evidence: Evidence) -> Iterator[str]:
    if other_parameters(evidence):
        yield (
            "First give your parameters the reference's values. Both sides initialise theirs from one seed: construct the same layers in "
            "the same order. Or use the reference's parameter names and shapes: then the judge copies the values."
        )


def _clean(section: Section) -> Section:
    """The section with lines of limited length, without folders, line breaks and control characters. Code keeps its indent."""
    lines = (line.expandtabs(TAB_WIDTH) if section.verbatim else line for line in section.lines)
    shown = tuple(cut_middle(without_paths(plain_line(line)), MAX_LINE_CHARS) for line in lines)
    return Section(cut_middle(plain_line(section.title), MAX_TITLE_CHARS), shown, section.verbatim)


def _excerpt(code: str, first_line: int, line: int) -> Iterator[Section]:
    lines = code.split("\n")
    at = line - first_line
    if not 0 <= at < len(lines):
        return
    numbers = range(max(at - AROUND, 0), min(at + AROUND + 1, len(lines)))
    width = len(str(numbers[-1] + first_line))
    shown = tuple(f"{'>' if number == at else ' '} {number + first_line:>{width}} | {lines[number]}" for number in numbers)
    yield Section(f"line {line}", shown, verbatim=True)


def _diagnostics(result: Result) -> Iterator[Section]:
    """The errors of a failed build; for other builds, their warnings."""
    failed = next((build for build in reversed(result.evidence.builds) if not build.ok), None)
    if failed is not None and result.status is Status.BUILD_FAILED:
        shown = errors(failed.diagnostics)
        if len(shown) == 1 and shown[0].message in result.message:
            return
        yield Section("compiler", tuple(_told(item) for item in shown[:MAX_DIAGNOSTICS]))
        if len(shown) > MAX_DIAGNOSTICS:
            yield Section("further errors", (str(len(shown) - MAX_DIAGNOSTICS),))
        return
    told = [item for build in result.evidence.builds for item in _remarks(build)]
    yield Section("compiler", tuple(told[:MAX_DIAGNOSTICS]))


def _told(item: Diagnostic) -> str:
    place = f"line {item.source_line}" if item.source_line else f"{item.file}:{item.line}" if item.line else item.file
    if item.foreign:
        place += f", {NOT_ITS_OWN}"
    excerpt = f"  [{item.excerpt.splitlines()[0]}]" if item.excerpt else ""
    return f"{place}: {item.message}{excerpt}"


def _remarks(build: BuildEvidence) -> Iterator[str]:
    for item in build.diagnostics:
        if item.severity == "info" and ("spilling" in item.message or "Loss" in item.message):
            yield item.message
        elif item.severity == "warning" and item.source_line:
            yield _told(item)


def _traceback(result: Result) -> Iterator[Section]:
    exception = result.evidence.exception
    if exception is None or result.status is not Status.RUN_FAILED:
        return
    lines = [line for line in exception.traceback.splitlines() if line.strip()]
    if len(lines) > 2:
        yield Section("the submission's lines of the traceback", tuple(lines[-MAX_TRACEBACK_LINES:]), verbatim=True)
    more = [line.strip() for line in exception.message.splitlines() if line.strip()]
    if len(more) > 1 and not all(line in result.message for line in more):
        yield Section("message", (cut_middle(" / ".join(more), MAX_LINE_CHARS),))


def _figures(evidence: Evidence) -> Iterator[Section]:
    failed = next((round_ for round_ in evidence.rounds if not round_.passed), None)
    if failed is None:
        return
    for figures in failed.outputs:
        if figures.wrong:
            yield Section(f"error of output{figures.output}" if figures.output else "error", tuple(_figures_lines(figures)))
            return


def _figures_lines(figures: ErrorFigures) -> Iterator[str]:
    share = figures.wrong / max(figures.elements, 1)
    yield f"{figures.wrong} of {figures.elements} elements wrong ({share:.2%})" + (f", {figures.pattern}" if figures.pattern else "")
    if figures.likeness:
        yield figures.likeness
    yield f"largest relative error {figures.max_error:.3g}, RMS {figures.rms_error:.3g}; allowed {figures.tolerance:.3g}"
    for element in figures.examples:
        yield f"at {list(element.index)}: {element.value:.7g}, expected {element.expected:.7g}"


def _broken_by(evidence: Evidence) -> Iterator[ChangedInputsEvidence]:
    return (changed for changed in evidence.changed_inputs if changed.right is False)


def _other_inputs(changed: ChangedInputsEvidence) -> str:
    """The error on inputs of another distribution; without a figure, the message."""
    what = f"largest relative error {changed.max_error:.3g}" if changed.max_error is not None else changed.message
    return f"inputs `{changed.distribution}`: {changed.category or 'wrong'}" + (f", {what}" if what else "")


def _launches(evidence: Evidence) -> Iterator[Section]:
    own = [launch for launch in evidence.launches if launch.own]
    others = [launch for launch in evidence.launches if not launch.own]
    lines = [_launch(evidence, launch) for launch in own[:MAX_KERNELS]]
    if len(own) > MAX_KERNELS:
        lines.append(f"and {len(own) - MAX_KERNELS} other kernels of the submission")
    if others:
        lines.append(_of_libraries(evidence, others))
    yield Section("launches", tuple(lines))


def _of_libraries(evidence: Evidence, others: list[LaunchRecord]) -> str:
    found = [launch for launch in by_time(evidence) if not launch.own]
    share = sum(evidence.device_share(launch) or 0.0 for launch in found)
    names = ", ".join(dict.fromkeys(f"`{plain_name(launch.kernel)}`" for launch in found[:MAX_LIBRARY_KERNELS]))
    return f"{sum(launch.count for launch in others)} launches of library kernels" + (
        f"; they take {percent(share)} of a call's time, mostly {names}" if found else ""
    )


def _launch(evidence: Evidence, launch: LaunchRecord) -> str:
    shared = f", {launch.shared_bytes} bytes of dynamic shared memory" if launch.shared_bytes else ""
    refused = f", refused with CUDA error {launch.code}" if launch.code else ""
    limits = launch.limits
    uses = f"; {limits.registers} registers" if limits else ""
    if limits and limits.static_shared_bytes:
        uses += f", {limits.static_shared_bytes} bytes of static shared memory"
    if limits and limits.local_bytes:
        uses += f", {limits.local_bytes} bytes of local memory per thread (spilled registers or arrays)"
    took = timed(evidence, launch)
    shape = f"grid {extent(launch.grid)}, block {extent(launch.block)}{shared}{refused}{uses}"
    return f"`{plain_name(launch.kernel)}` × {launch.count}: {shape}{f'; {took}' if took else ''}"


def _notes(result: Result, code: str, first_line: int) -> Iterator[Section]:
    if result.category in UNREAD or (result.status is Status.NOT_EVALUATED and result.category is not Category.NO_DEVICE):
        return
    found = notes(code, first_line, result.evidence.sizes)
    yield Section("from reading the code", tuple(f"line {note.line}: {note.text}" if note.line else note.text for note in found))


def _escaped(text: str) -> str:
    """One line escaped for Markdown. Backticks around names stay."""
    return "".join(f"\\{character}" if character in "\\*_[]<>#|&~" else character for character in text)


def _fence(lines: tuple[str, ...]) -> str:
    """A Markdown fence with more backticks than any line has in a row, so that no line closes it."""
    runs = (len(run) for line in lines for run in re.findall("`+", line))
    return "`" * max(3, 1 + max(runs, default=0))
