"""The list of problems, and the page of one: its text, cases, minimum time, ranking, and best speedups over time."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated

from fastapi import APIRouter, Query
from markupsafe import Markup

from db.queries.filters import Filters
from db.queries.generality import generality
from db.queries.leaderboard import Failures, LeaderboardRow, failures, leaderboard
from db.queries.problems import ProblemSummary, Version, problems, protocols, versions
from db.queries.progress import BoardProgress, problem_progress
from evaluator.results.category import Category
from evaluator.results.display.text import plain_block
from evaluator.results.evidence import Evidence, FloorEvidence, LightEvidence
from web import problem_text
from web.filters import MAX_NAME, Name, PageNumber
from web.forms import unknown_name
from web.pages.boards import places_sheet
from web.site import NotFoundError, PageContent, Site, SiteOf, page
from web.tables import Column, Table, table

router = APIRouter()
TOP_ROWS = 10
"""Maximum places of a board on a problem's page."""


@dataclass(frozen=True)
class ListedProblem:
    """A problem in the list: its description, and its results (`db.queries.problems.ProblemSummary`)."""

    name: str
    description: str = ""
    level: int | None = None
    tags: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    submissions: int = 0
    solved: int = 0
    not_evaluated: int = 0
    authors: int = 0
    best_speedup: float | None = None
    best_author: str | None = None
    best_device: str | None = None
    best_evaluation_id: int | None = None
    best_result_id: int | None = None
    disturbed: str = ""
    """What disturbed the best's times, in words. Empty if nothing did, and until `db.queries.disturbances` has read it."""


@dataclass(frozen=True)
class ProblemsPage(PageContent):
    """All problems."""

    table: Table[ListedProblem]


@dataclass(frozen=True)
class ProblemBoard:
    """One board of the problem."""

    case: str | None
    device_name: str
    precision: str | None
    protocol: str | None
    """None for the device's default."""
    rows: tuple[LeaderboardRow, ...]
    """The first places."""
    places: int
    floor: FloorEvidence | None
    """The minimum time of a call, from the best evaluation that has one."""
    light: LightEvidence | None
    """The speed of light, from the best evaluation that has one."""
    generality: dict[int, str]
    """`generalises` of the shown places, by evaluation id."""
    robustness: dict[int, str]
    """`robust` of the shown places, by evaluation id."""


@dataclass(frozen=True)
class ProblemPage(PageContent):
    """One problem."""

    listed: ListedProblem
    version: Version
    """The version that counts."""
    older: tuple[Version, ...]
    boards: tuple[ProblemBoard, ...]
    progress: tuple[BoardProgress, ...]
    failures: Failures
    has_reduced: bool
    """Whether there are results of reduced precision, which are ranked on request."""
    source: tuple[Markup, ...]
    """Lines of the version's text as HTML; empty if it is not known."""


COLUMNS: tuple[Column[ListedProblem], ...] = (
    Column("name", "problem", lambda row: row.name, kind="problem"),
    Column("level", "level", lambda row: row.level, numeric=True),
    Column("submissions", "submissions", lambda row: row.submissions, numeric=True, best_first=True),
    Column("solved", "solved", lambda row: row.solved, numeric=True, best_first=True),
    Column("authors", "authors", lambda row: row.authors, numeric=True, best_first=True),
    Column("best", "best speedup", lambda row: row.best_speedup, numeric=True, best_first=True),
    Column("by", "by", lambda row: row.best_author, kind="author"),
    Column("devices", "devices", lambda row: row.devices or None, minor=True),
)


@page(router, "/problems", "problems.html")
def problems_page(site: SiteOf, sort: Name = None, order: Name = None, number: PageNumber = 1) -> ProblemsPage:
    def told(rows: Iterable[ListedProblem]) -> tuple[ListedProblem, ...]:
        return site.disturbances.told(rows, "best_result_id")

    found = listed(site)
    shown = table(COLUMNS, found, sort, order, number, site.page_rows)
    sheet = (row for rows in (shown.every,) for row in told(rows))  # reads nothing before its first row
    return ProblemsPage(lambda: told(found), replace(shown, rows=told(shown.rows)), sheet=sheet)


def listed(site: Site) -> tuple[ListedProblem, ...]:
    """All problems by name."""
    return site.memory.recall("problems", lambda: tuple(map(_listed, problems(site.store))))


@page(router, "/problem", "problem.html")
def problem_page(site: SiteOf, name: Annotated[str, Query(max_length=MAX_NAME)]) -> ProblemPage:
    counting, *older = versions(site.store, name) or (None,)
    if counting is None:
        raise NotFoundError(unknown_name(site, Filters(problem=name)) or f"Problem {name!r} was never loaded: there is nothing to show.")
    ranked = [leaderboard(site.store, Filters(problem=name, protocol=protocol)) for protocol in protocols(site.store, name)]
    boards = tuple(board for rows in ranked for board in _boards(site, rows))
    found = site.memory.recall(("progress of a problem", name), lambda: problem_progress(site.store, name))
    progress = tuple(replace(board, best=site.disturbances.told(board.best)) for board in found)
    # In a large database the cached list may be older than the problem.
    summary = next((problem for problem in listed(site) if problem.name == name), ListedProblem(name))
    (summary,) = site.disturbances.told([summary], "best_result_id")
    counts = failures(site.store, Filters(problem=name))
    return ProblemPage(
        value={
            **asdict(summary),
            "versions": [counting, *older],
            "boards": boards,
            "progress": progress,
            "evaluations": counts.evaluations,
            "failures": counts.counts,
        },
        sheet=(row for rows in ranked for row in places_sheet(site, rows)),
        listed=summary,
        version=counting,
        older=tuple(version for version in older if version is not None),
        boards=boards,
        progress=progress,
        failures=counts,
        has_reduced=any(item.category is Category.REDUCED_PRECISION for item in counts.counts),
        source=tuple(map(Markup, site.highlighter.lines(plain_block(counting.source).rstrip("\n")))) if counting.source else (),
    )


def _listed(summary: ProblemSummary) -> ListedProblem:
    text = problem_text.read(summary.source)
    counts = {field.name: getattr(summary, field.name) for field in fields(summary) if field.name != "source"}
    return ListedProblem(description=text.description, level=text.level, tags=text.tags, **counts)


def _boards(site: Site, rows: tuple[LeaderboardRow, ...]) -> list[ProblemBoard]:
    of_board: dict[tuple[str | None, str, str | None, str | None], list[LeaderboardRow]] = {}
    for row in rows:
        of_board.setdefault((row.case, row.device_name, row.precision, row.protocol), []).append(row)
    return [_board(site, found) for found in of_board.values()]


def _board(site: Site, rows: list[LeaderboardRow]) -> ProblemBoard:
    """One board. Its floor and speed of light come from the best evaluation that has them."""
    floor: FloorEvidence | None = None
    light: LightEvidence | None = None
    for evidence in _evidence(site, rows[:TOP_ROWS]):
        floor, light = floor or evidence.floor, light or evidence.light
        if floor and light:
            break
    first, shown = rows[0], site.disturbances.told(rows[:TOP_ROWS], "result_id")
    asked = generality(site.store, [row.evaluation_id for row in shown])
    return ProblemBoard(
        first.case,
        first.device_name,
        first.precision,
        first.protocol,
        shown,
        len(rows),
        floor,
        light,
        generality={number: told.generalises for number, told in asked.items()},
        robustness={number: told.robust for number, told in asked.items()},
    )


def _evidence(site: Site, rows: list[LeaderboardRow]) -> Iterator[Evidence]:
    for row in rows:
        stored = site.store.get(row.evaluation_id)
        if stored is not None:
            yield stored.result.evidence
