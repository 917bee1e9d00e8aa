"""All runs, and two runs side by side: what broke, what was fixed, what became slower or faster."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from db.queries.filters import Filters
from db.queries.run_comparison import OUTCOMES, ComparedSubmission, RunComparison, TooManyEvaluationsError, UnknownRunError, compare_runs
from db.queries.runs import Run, runs
from evaluator.results.category import Status
from web.filters import MAX_ID, FiltersOf, Name, PageNumber
from web.forms import Field, fields_of
from web.site import BadRequestError, NotFoundError, PageContent, Site, SiteOf, page
from web.tables import Column, Table, table

router = APIRouter()
RUNS = 30
"""Runs on one page."""
UNCHANGED = "unchanged"
RunNumber = Annotated[int | None, Query(ge=1, le=MAX_ID)]


@dataclass(frozen=True)
class RunsPage(PageContent):
    """Runs, newest first."""

    rows: tuple[Run, ...]
    statuses: tuple[str, ...]
    """Statuses that any of these runs has."""
    older: int | None
    """Number of the run before which the next page starts; None on the last page."""


@dataclass(frozen=True)
class RunComparisonPage(PageContent):
    """Two runs side by side."""

    comparison: RunComparison
    fields: tuple[Field, ...]
    show: str
    """The outcome shown; `all`, or empty for all but `unchanged`."""
    table: Table[ComparedSubmission]


COLUMNS: tuple[Column[ComparedSubmission], ...] = (
    Column("outcome", "outcome", lambda row: OUTCOMES.index(row.outcome), kind="status"),
    Column("problem", "problem", lambda row: None if row.problem is None else (row.problem, row.case or ""), kind="problem"),
    Column("submission", "submission", lambda row: (row.submission, row.block or 0), kind="submission"),
    Column("author", "author", lambda row: row.author, kind="author"),
    Column("verdict", "verdict", lambda row: row.right.status if row.right else None),
    Column("speedup", "speedup", lambda row: row.right.speedup if row.right else None, numeric=True, best_first=True),
    Column("ratio", "ratio", lambda row: row.ratio, numeric=True),
    Column("source", "source", lambda row: row.same_source if row.left and row.right else None, minor=True),
    Column("compare", "compare", lambda row: (row.right or row.left) is not None, sortable=False),
)


@page(router, "/runs", "runs.html")
def runs_page(site: SiteOf, before: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None) -> RunsPage:
    # The end of a run changes the page without a new evaluation.
    heads = runs(site.store, RUNS + 1, counted=False, before=before)
    key = ("runs", tuple((head.id, head.finished_at, head.expected, head.skipped) for head in heads))
    rows = site.memory.recall(key, lambda: runs(site.store, RUNS + 1, before=before))
    shown = rows[:RUNS]
    occurring = {status for run in shown for status in run.statuses}
    statuses = tuple(status.value for status in Status if status.value in occurring)
    return RunsPage(shown, shown, statuses, shown[-1].id if len(rows) > RUNS else None, sheet=shown)


@page(router, "/runs/compare", "runs_compare.html")
def run_comparison_page(
    site: SiteOf,
    filters: FiltersOf,
    left: RunNumber = None,
    right: RunNumber = None,
    show: Name = None,
    sort: Name = None,
    order: Name = None,
    number: PageNumber = 1,
) -> RunComparisonPage:
    """Two runs side by side; by default the last two."""
    if left is None and right is None:
        last = runs(site.store, 2, counted=False)
        if len(last) < 2:
            raise NotFoundError("There are no two runs to compare yet.")
        right, left = (head.id for head in last)
    if left is None or right is None:
        raise BadRequestError("Name two runs, as in /runs/compare?left=1&right=2, or choose them at /runs.")
    if left == right:
        raise BadRequestError(f"Both sides are run {left}. Choose two runs at /runs.")
    chosen = Filters(problem=filters.problem, author=filters.author)
    try:
        numbers = left, right
        found = site.memory.recall(("runs", *numbers, chosen), lambda: compare_runs(site.store, *numbers, chosen))
    except UnknownRunError as error:
        raise NotFoundError(f"{error} /runs lists all.") from error
    except TooManyEvaluationsError as error:
        raise BadRequestError(f"{error} For example: /runs/compare?left={left}&right={right}&problem=NAME") from error
    wanted = show or ""
    rows = [row for row in found.rows if wanted == "all" or (row.outcome == wanted if wanted else row.outcome != UNCHANGED)]
    shown = table(COLUMNS, rows, sort, order, number)
    return RunComparisonPage(
        value=lambda: replace(found, rows=tuple(_told(site, found.rows))),
        sheet=map(_record, _told(site, shown.every)),
        comparison=found,
        fields=fields_of(site, chosen, "problem", "author"),
        show=wanted,
        table=replace(shown, rows=tuple(_told(site, shown.rows))),
    )


def _told(site: Site, rows: tuple[ComparedSubmission, ...]) -> Iterator[ComparedSubmission]:
    """The submissions with what disturbed the times of both sides, which is read on demand."""
    sides = site.disturbances.told(side for row in rows for side in (row.left, row.right) if side)
    known = {side.evaluation_id: side for side in sides}
    for row in rows:
        yield replace(row, left=row.left and known[row.left.evaluation_id], right=row.right and known[row.right.evaluation_id])


def _record(row: ComparedSubmission) -> dict[str, Any]:
    """One row of the CSV."""
    names = ("outcome", "submission", "block", "author", "problem", "case", "same_source", "ratio", "ratio_low", "ratio_high")
    of_side = ("evaluation_id", "status", "category", "device_name", "runtime_ms", "speedup", "speedup_low", "speedup_high", "disturbed")
    sides = {"left": row.left, "right": row.right}
    told = {f"{side}_{name}": getattr(item, name, None) for side, item in sides.items() for name in of_side}
    return {name: getattr(row, name) for name in names} | told
