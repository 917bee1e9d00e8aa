"""All runs, and two runs side by side: what broke, what was fixed, what became slower or faster."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query

from db.queries.filters import Filters
from db.queries.run_comparison import OUTCOMES, ComparedSubmission, RunComparison, TooManyEvaluationsError, UnknownRunError, compare_runs
from db.queries.runs import Run, runs
from evaluator.results.category import Status
from web.filters import FiltersOf, Name, PageNumber
from web.forms import Field, fields_of
from web.pages.evaluations import MAX_ID
from web.site import BadRequestError, NotFoundError, PageContent, SiteOf, page
from web.tables import Column, Table, table

router = APIRouter()
RUNS = 30
"""Runs that are listed at once."""
UNCHANGED = "unchanged"
RunNumber = Annotated[int, Query(ge=1, le=MAX_ID)]


@dataclass(frozen=True)
class RunsPage(PageContent):
    """Runs, newest first."""

    rows: tuple[Run, ...]
    statuses: tuple[str, ...]
    """Those that any of the runs has."""
    older: int | None
    """The next page has runs before this one; None where there are none."""


@dataclass(frozen=True)
class RunComparisonPage(PageContent):
    """Two runs side by side."""

    comparison: RunComparison
    fields: tuple[Field, ...]
    show: str
    """The outcome that is shown; `all`, or empty for all but what is unchanged."""
    table: Table[ComparedSubmission]


COLUMNS: tuple[Column[ComparedSubmission], ...] = (
    Column("submission", "submission", lambda row: (row.submission, row.block or 0)),
    Column("outcome", "outcome", lambda row: OUTCOMES.index(row.outcome)),
    Column("problem", "problem", lambda row: None if row.problem is None else (row.problem, row.case or "")),
    Column("verdict", "verdict", lambda row: row.right.status if row.right else None),
    Column("speedup", "speedup", lambda row: row.right.speedup if row.right else None, numeric=True, best_first=True),
    Column("ratio", "ratio", lambda row: row.ratio, numeric=True),
    Column("source", "source", lambda row: row.same_source if row.left and row.right else None),
    Column("compare", "compare", None),
)


@page(router, "/runs", "runs.html")
def runs_page(site: SiteOf, before: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None) -> RunsPage:
    # A run that ends has another end then, but no new evaluation.
    heads = runs(site.store, RUNS + 1, counted=False, before=before)
    key = ("runs", tuple((head.id, head.finished_at, head.expected, head.skipped) for head in heads))
    rows = site.memory.recall(key, lambda: runs(site.store, RUNS + 1, before=before))
    shown = rows[:RUNS]
    occurring = {status for run in shown for status in run.statuses}
    statuses = tuple(status.value for status in Status if status.value in occurring)
    return RunsPage(shown, shown, statuses, shown[-1].id if len(rows) > RUNS else None)


@page(router, "/runs/compare", "runs_compare.html")
def run_comparison_page(
    site: SiteOf,
    filters: FiltersOf,
    left: RunNumber,
    right: RunNumber,
    show: Name = None,
    sort: Name = None,
    order: Name = None,
    number: PageNumber = 1,
) -> RunComparisonPage:
    if left == right:
        raise BadRequestError(f"Both sides are run {left}. Choose two runs at /runs.")
    chosen = Filters(problem=filters.problem, author=filters.author)
    try:
        found = site.memory.recall(("runs", left, right, chosen), lambda: compare_runs(site.store, left, right, chosen))
    except UnknownRunError as error:
        raise NotFoundError(f"{error} /runs lists all.") from error
    except TooManyEvaluationsError as error:
        raise BadRequestError(f"{error} For example: /runs/compare?left={left}&right={right}&problem=NAME") from error
    wanted = show or ""
    rows = [row for row in found.rows if wanted == "all" or (row.outcome == wanted if wanted else row.outcome != UNCHANGED)]
    return RunComparisonPage(found, found, fields_of(site, chosen, "problem", "author"), wanted, table(COLUMNS, rows, sort, order, number))
