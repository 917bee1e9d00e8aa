"""Two evaluations of one problem side by side: verdicts, times, sources."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query
from markupsafe import Markup

from db.queries.counterparts import best_other, previous
from db.queries.ratio import Ratio, TimedEvaluation, ratio, timed, why_not
from db.store import StoredEvaluation
from evaluator.results.display.figures import MARK, best_text, light_text
from evaluator.results.display.text import plain_block
from evaluator.results.result import Result
from web.diff import Line, Part, Step, parts
from web.filters import MAX_NAME
from web.pages.evaluations import MAX_LINES, find
from web.site import BadRequestError, PageContent, Site, SiteOf, figure, moment, page

router = APIRouter()
COUNTERPARTS = {"best": best_other, "previous": previous}
"""Words in place of a number: the best on the other evaluation's board, and the previous one by its author."""
NOTHING = {
    "best": "No other evaluation is ranked on the board of evaluation {number} yet.",
    "previous": "There is no evaluation before {number} by the same author on the same problem.",
}
PLAIN = {"generalises": "untested", "robust": "untested", "precision": "own", "protocol": "the device's default"}
"""Values that are not shown if both sides have them."""
Chosen = Annotated[str, Query(max_length=MAX_NAME)]


@dataclass(frozen=True)
class Comparison:
    """Two evaluations of one problem."""

    left: StoredEvaluation
    right: StoredEvaluation
    ratio: Ratio | None
    why_not: str
    """Why their times can't be compared; empty if they can."""
    facts: tuple[tuple[str, str, str], ...]
    """The values of both sides, by name."""
    steps: tuple[Step, ...]
    """Steps from the left source to the right one."""
    parts: tuple[Part, ...]
    """The shown parts of both sources."""
    same_source: bool
    exact: bool
    """Whether the comparison of the sources was finished in time."""
    lines_left_out: int
    """Lines of the sources that are not compared."""


@dataclass(frozen=True)
class ComparePage(PageContent):
    """Two evaluations, or a form to name them."""

    left: str
    right: str
    """Text of the form's field: a number, a word, or nothing."""
    nothing: str
    """Why there is nothing to compare with; empty if there is."""
    comparison: Comparison | None


@page(router, "/compare", "compare.html")
def compare_page(site: SiteOf, left: Chosen = "", right: Chosen = "") -> ComparePage:
    if not left and not right:
        return ComparePage({}, "", "", "", None)
    numbers = {"left": _number("left", left), "right": _number("right", right)}
    known = {name: find(site, number) for name, number in numbers.items() if isinstance(number, int)}
    if not known:
        raise BadRequestError("At least one side must be an evaluation's number, as in /compare?left=best&right=12.")
    for name, other in (("left", "right"), ("right", "left")):
        word = numbers[name]
        if isinstance(word, str):
            base = known[other].id
            number = COUNTERPARTS[word](site.store, timed(site.store, base)[base])
            if number is None:
                given = {"left": "", "right": ""} | {other: str(base)}
                return ComparePage({}, given["left"], given["right"], NOTHING[word].format(number=base), None)
            known[name] = find(site, number)
    found = _compared(site, known["left"], known["right"])
    return ComparePage(lambda: _value(site, found), str(found.left.id), str(found.right.id), "", found)


def _number(name: str, text: str) -> int | str:
    """Parse an evaluation's number, or a word for one. Raises BadRequestError."""
    if text in COUNTERPARTS:
        return text
    # A longer number is too large for a column.
    if not text.isdecimal() or len(text) > 18:
        words = " or ".join(COUNTERPARTS)
        raise BadRequestError(f"{name}: {text!r} is not an evaluation's number, nor {words}. Example: /compare?left=3&right=12.")
    return int(text)


def _compared(site: Site, left: StoredEvaluation, right: StoredEvaluation) -> Comparison:
    """Raises BadRequestError if they are of different problems."""
    problems = [side.result.problem for side in (left, right)]
    if problems[0] != problems[1]:
        words = " and ".join(
            f"{side.id} is of {problem or 'no known problem'}" for side, problem in zip((left, right), problems, strict=True)
        )
        raise BadRequestError(f"Only evaluations of one problem can be compared, but {words}. A problem's page lists its submissions.")
    sides = timed(site.store, left.id, right.id)
    texts = [plain_block(side.source).removesuffix("\n").split("\n") for side in (left, right)]
    shown = [text[:MAX_LINES] for text in texts]
    steps, exact = site.differ.steps(*shown)
    lines = [_lines(site, side, text) for side, text in zip((left, right), shown, strict=True)]
    return Comparison(
        left=left,
        right=right,
        ratio=ratio(sides[left.id], sides[right.id]),
        why_not=why_not(sides[left.id], sides[right.id]),
        facts=_facts((left, right), (sides[left.id], sides[right.id])),
        steps=steps,
        parts=tuple(parts(steps, *lines)),
        same_source=left.source == right.source,
        exact=exact,
        lines_left_out=sum(len(text) for text in texts) - sum(len(text) for text in shown),
    )


def _lines(site: Site, side: StoredEvaluation, text: list[str]) -> list[Line]:
    marked = site.highlighter.lines("\n".join(text))
    return [Line(number, Markup(html)) for number, html in enumerate(marked, side.result.evidence.first_line)]


def _facts(
    stored: tuple[StoredEvaluation, StoredEvaluation], sides: tuple[TimedEvaluation, TimedEvaluation]
) -> tuple[tuple[str, str, str], ...]:
    left, right = (_told(side.result, known) for side, known in zip(stored, sides, strict=True))
    told = ((name, left[name], right[name]) for name in left if left[name] or right[name])
    return tuple(item for item in told if item[1:] != (PLAIN.get(item[0]),) * 2)


def _told(result: Result, known: TimedEvaluation) -> dict[str, str]:
    """The values of one side, by name; empty texts for missing ones."""
    evidence, best = result.evidence, result.best_baseline
    doubt = evidence.conditions.remark if evidence.conditions and known.speedup is not None else ""
    speedup = figure(known.speedup) + (MARK if doubt else "")
    if known.speedup_low != known.speedup_high:
        speedup += f" ({figure(known.speedup_low)} to {figure(known.speedup_high)})"
    protocol = evidence.timing.protocol if evidence.timing else result.protocol
    return {
        "cause": result.message,
        "speedup": speedup,
        "runtime ms": figure(known.runtime_ms),
        "baseline ms": figure(known.baseline_ms),
        "best baseline ms": best_text(best, result.baselines[best][0]) if best and len(result.baselines) > 1 else "",
        "of light (baseline)": light_text(result.speed_of_light, result.baseline_speed_of_light),
        "doubt": doubt,
        "generalises": evidence.generalises,
        "robust": evidence.robust,
        "case": known.case or "",
        "device": known.device_name,
        "precision": known.precision or "",
        "protocol": protocol or ("the device's default" if known.speedup is not None else ""),
        "started, UTC": moment(result.started_at),
        "evaluator": result.evaluator_version,
    }


def _value(site: Site, found: Comparison) -> dict[str, Any]:
    """The JSON: short records of both evaluations, the ratio, and the ranges of lines that differ, counted from 0."""
    sides = timed(site.store, found.left.id, found.right.id)
    left, right = site.disturbances.told(sides[each.id] for each in (found.left, found.right))
    return {
        "left": left,
        "right": right,
        "ratio": found.ratio,
        "why_not": found.why_not,
        "same_source": found.same_source,
        "changes": [step for step in found.steps if not step.equal],
    }
