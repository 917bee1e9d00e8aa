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
from db.queries.ranking import EVERYTHING, author_id
from db.queries.runs import EvaluationSummary, of_ids
from db.queries.statistics import FAST_P
from db.store import StoreError
from web.filters import MAX_NAME, Name, PageNumber
from web.pages.boards import COLUMNS, places
from web.site import NotFoundError, PageContent, SiteOf, page
from web.tables import Table, table

router = APIRouter()
LATEST = 20
"""Evaluations that an author's page lists."""


@dataclass(frozen=True)
class AuthorPage(PageContent):
    """One author."""

    name: str
    overall: tuple[tuple[OverallBoard, OverallRow], ...]
    table: Table[LeaderboardRow]
    generality: dict[int, Generality]
    """Of the places that are shown, by the evaluation's id."""
    failures: Failures
    latest: tuple[EvaluationSummary, ...]
    fast_p: tuple[float, ...] = FAST_P


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
    shown = table(COLUMNS, rows, sort, order, number)
    latest = of_ids(site.store, site.timeline.latest(LATEST, filters=Filters(author=name))[1])
    return AuthorPage(
        value={
            "name": name,
            "overall": [
                {"case": board.case, "device_name": board.device_name, "tasks": board.tasks, "row": row} for board, row in standing
            ],
            "places": rows,
            "evaluations": counts.evaluations,
            "failures": counts.counts,
            "latest": latest,
        },
        name=name,
        overall=standing,
        table=shown,
        generality=generality(site.store, [row.evaluation_id for row in shown.rows]),
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
