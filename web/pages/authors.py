"""One author, and one submission with all its evaluations."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query

from db.foreign import ForeignHistoryRow, foreign_history
from db.queries.filters import Filters
from db.queries.generality import Generality, generality
from db.queries.history import HistoryRow, history
from db.queries.leaderboard import Failures, LeaderboardRow, failures
from db.queries.overall import OverallBoard, OverallRow, overall
from db.queries.progress import AuthorProgress, author_progress
from db.queries.ranking import EVERYTHING, author_id
from db.queries.runs import EvaluationSummary, of_ids
from db.queries.statistics import FAILURE_SPEEDUP, FAST_P
from db.store import StoreError
from web.filters import MAX_NAME, Name, PageNumber
from web.pages.boards import COLUMNS, places
from web.site import NotFoundError, PageContent, SiteOf, page
from web.tables import Table, table

router = APIRouter()
LATEST = 20
"""Evaluations that an author's page lists."""
SHOWN_MEANS = 100
"""Of the moments at which the mean rose, the last ones that the page lists for each case and device; the JSON has all."""


@dataclass(frozen=True)
class AuthorPage(PageContent):
    """One author."""

    name: str
    overall: tuple[tuple[OverallBoard, OverallRow], ...]
    table: Table[LeaderboardRow]
    generality: dict[int, Generality]
    """Of the places that are shown, by the evaluation's id."""
    solved: int
    """Problems on whose boards the author has a place."""
    best: LeaderboardRow | None
    """The place with the highest speedup."""
    progress: tuple[AuthorProgress, ...]
    failures: Failures
    latest: tuple[EvaluationSummary, ...]
    fast_p: tuple[float, ...] = FAST_P
    failure_speedup: float = FAILURE_SPEEDUP
    shown_means: int = SHOWN_MEANS


@dataclass(frozen=True)
class SubmissionPage(PageContent):
    """One submission."""

    name: str
    rows: tuple[HistoryRow, ...]
    foreign: tuple[ForeignHistoryRow, ...]
    """What other harnesses said of it."""


@page(router, "/author", "author.html")
def author_page(
    site: SiteOf, name: Annotated[str, Query(max_length=MAX_NAME)], sort: Name = None, order: Name = None, number: PageNumber = 1
) -> AuthorPage:
    with site.store.read() as connection:
        if author_id(connection, name) is None:
            raise NotFoundError(f"There is no author {name!r} in this database.")
    boards = site.memory.recall(("overall", EVERYTHING, False), lambda: overall(site.store))
    standing = tuple((board, row) for board in boards for row in board.rows if row.author == name)
    rows = places(site, Filters(author=name))
    counts = failures(site.store, Filters(author=name))
    progress = site.memory.recall(("progress of an author", name), lambda: author_progress(site.store, name))
    shown = table(COLUMNS, rows, sort, order, number)
    latest = of_ids(site.store, site.timeline.latest(LATEST, filters=Filters(author=name))[1])
    return AuthorPage(
        value={
            "name": name,
            "overall": [
                {"case": board.case, "device_name": board.device_name, "tasks": board.tasks, "row": row} for board, row in standing
            ],
            "places": rows,
            "progress": progress,
            "evaluations": counts.evaluations,
            "failures": counts.counts,
            "latest": latest,
        },
        name=name,
        overall=standing,
        table=shown,
        generality=generality(site.store, [row.evaluation_id for row in shown.rows]),
        solved=len({row.problem for row in rows}),
        best=max(rows, key=lambda row: row.speedup, default=None),
        progress=progress,
        failures=counts,
        latest=latest,
    )


@page(router, "/submission", "submission.html")
def submission_page(site: SiteOf, name: Annotated[str, Query(max_length=MAX_NAME)]) -> SubmissionPage:
    foreign = foreign_history(site.store, name)
    try:
        rows = history(site.store, name)
    except StoreError as error:
        if not foreign:
            raise NotFoundError(f"There is no submission {name!r} in this database.") from error
        rows = ()
    return SubmissionPage(value=[*rows, *foreign], name=name, rows=rows, foreign=foreign)
