"""One author, and one submission with all its evaluations."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from db.foreign import ForeignHistoryRow, foreign_history
from db.queries.evaluations import Choice
from db.queries.filters import Filters
from db.queries.history import HistoryRow, history
from db.queries.leaderboard import Failures, LeaderboardRow, failures
from db.queries.overall import OverallBoard, OverallRow, overall, told
from db.queries.progress import author_progress
from db.queries.ranking import EVERYTHING
from db.queries.runs import EvaluationSummary, of_ids
from db.queries.statistics import FAILURE_SPEEDUP, FAST_P
from db.queries.steps import StepWorth, steps
from db.store import StoreError
from web.filters import MAX_NAME, Name, PageNumber
from web.forms import unknown_name
from web.pages.boards import places, places_sheet, places_table
from web.site import NotFoundError, PageContent, SiteOf, page
from web.tables import Column, Table, table

router = APIRouter()
LATEST = 20
"""Maximum evaluations listed on an author's page."""


@dataclass(frozen=True)
class AuthorPage(PageContent):
    """One author."""

    name: str
    overall: tuple[tuple[OverallBoard, OverallRow], ...]
    table: Table[LeaderboardRow]
    solved: int
    """Number of problems in which the author has a place on a board."""
    best: LeaderboardRow | None
    """The place with the highest speedup."""
    failures: Failures
    steps: tuple[StepWorth, ...]
    latest: tuple[EvaluationSummary, ...]
    others: tuple[str, ...]
    """Other authors on the same overall boards."""
    fast_p: tuple[float, ...] = FAST_P
    failure_speedup: float = FAILURE_SPEEDUP


@dataclass(frozen=True)
class SubmissionPage(PageContent):
    """One submission."""

    name: str
    rows: tuple[HistoryRow, ...]
    table: Table[HistoryRow]
    foreign: tuple[ForeignHistoryRow, ...]
    """Verdicts of other harnesses on it."""


@page(router, "/author", "author.html")
def author_page(
    site: SiteOf,
    name: Annotated[str, Query(max_length=MAX_NAME)],
    sort: Name = None,
    order: Name = None,
    number: PageNumber = 1,
) -> AuthorPage:
    missing = unknown_name(site, Filters(author=name))
    if missing:
        raise NotFoundError(missing)
    boards = site.memory.recall(("overall", EVERYTHING, False), lambda: overall(site.store))
    standing = tuple((board, row) for board in boards for row in board.rows if row.author == name)
    rows = places(site, Filters(author=name))
    counts = failures(site.store, Filters(author=name))
    shown, data = places_table(site, rows, sort, order, number), places_sheet(site, rows)
    best = sorted(rows, key=lambda row: -row.speedup)[:1]
    trained = site.memory.recall(("steps", name), lambda: steps(site.store, name))
    latest = site.disturbances.told(of_ids(site.store, site.timeline.page(Choice(Filters(author=name)), LATEST)[1]))

    def value() -> dict[str, Any]:
        marked = told([replace(board, rows=(row,)) for board, row in standing], site.disturbances)
        return {
            "name": name,
            "overall": [{"case": each.case, "device_name": each.device_name, "tasks": each.tasks, "row": each.rows[0]} for each in marked],
            "places": tuple(data),
            "progress": site.memory.recall(("progress of an author", name), lambda: author_progress(site.store, name)),
            "steps": trained,
            "evaluations": counts.evaluations,
            "failures": counts.counts,
            "latest": latest,
        }

    return AuthorPage(
        value=value,
        sheet=data,
        name=name,
        overall=standing,
        table=shown,
        solved=len({row.problem for row in rows}),
        best=next(iter(site.disturbances.told(best, "result_id")), None),
        failures=counts,
        steps=trained,
        latest=latest,
        others=tuple(sorted({row.author for board, _ in standing for row in board.rows if row.author and row.author != name})),
    )


HISTORY_COLUMNS: tuple[Column[HistoryRow], ...] = (
    Column("evaluation", "evaluation", lambda row: row.evaluation_id, numeric=True, kind="evaluation"),
    Column("status", "status", lambda row: row.status, kind="status"),
    Column("category", "category", lambda row: row.category, kind="word"),
    Column("problem", "problem", lambda row: row.problem, kind="problem"),
    Column("block", "block", lambda row: row.block, numeric=True),
    Column("sample", "sample", lambda row: row.sample_id, numeric=True),
    Column("speedup", "speedup", lambda row: row.speedup, numeric=True, best_first=True, kind="speedup"),
    Column("case", "case", lambda row: row.case),
    Column("device", "device", lambda row: row.device_name, kind="device"),
    Column("precision", "precision", lambda row: None if row.precision == "own" else row.precision, text=lambda row: row.precision),
    Column("standing", "standing", lambda row: "ranked" if row.is_ranked else "current" if row.is_current else None),
    Column("source", "source", lambda row: row.source_sha256, text=lambda row: row.source_sha256[:12], kind="code", minor=True),
    Column("evaluator", "evaluator", lambda row: row.evaluator_version, minor=True),
    Column("started", "started, UTC", lambda row: row.started_at, best_first=True, kind="moment"),
)


@page(router, "/submission", "submission.html")
def submission_page(
    site: SiteOf, name: Annotated[str, Query(max_length=MAX_NAME)], sort: Name = None, order: Name = None, number: PageNumber = 1
) -> SubmissionPage:
    foreign = foreign_history(site.store, name)
    try:
        rows = history(site.store, name)
    except StoreError as error:
        if not foreign:
            raise NotFoundError(f"There is no submission {name!r} in this database.") from error
        rows = ()
    shown = table(HISTORY_COLUMNS, rows, sort, order, number, site.page_rows)
    return SubmissionPage(value=[*rows, *foreign], sheet=shown.every, name=name, rows=rows, table=shown, foreign=foreign)
