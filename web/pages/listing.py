"""The list of evaluations: all, or those that match, sorted by any column, in pages."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from db.queries.evaluations import Choice
from db.queries.runs import EvaluationSummary, in_order
from db.queries.steps import are_any
from db.queries.texts import MAX_CHARS, MOST_FOUND, matching
from db.queries.timeline import MOST_NAMED
from evaluator.results.category import CATEGORIES, Status
from web.filters import ChosenCategory, ChosenRun, ChosenStatus, FiltersOf, Name, PageNumber, Since, Step, Tag
from web.forms import Field, choice_field, fields_of, text_field, unknown_name, unknown_run
from web.site import PageContent, Site, SiteOf, page
from web.tables import Column, Table, is_descending, ordered_table

router = APIRouter()
Words = Annotated[str | None, Query(max_length=MAX_CHARS)]
_BATCH = 5000
"""Evaluations read at once for the CSV."""


@dataclass(frozen=True)
class EvaluationsPage(PageContent):
    """Evaluations that match the filters."""

    fields: tuple[Field, ...]
    table: Table[EvaluationSummary]
    filtered: bool
    """Whether any filter is set."""
    most_found: int | None
    """Maximum evaluations that a search finds, if it found so many."""
    unknown: str | None
    """Message about an unknown filter value, if nothing matches."""


COLUMNS: tuple[Column[EvaluationSummary], ...] = (
    Column("evaluation", "evaluation", lambda row: row.evaluation_id, numeric=True, best_first=True, kind="evaluation"),
    Column("status", "status", lambda row: row.status, kind="status"),
    Column("category", "category", lambda row: row.category, kind="word"),
    Column("problem", "problem", lambda row: row.problem, kind="problem"),
    Column("submission", "submission", lambda row: row.submission, kind="submission"),
    Column("author", "author", lambda row: row.author, kind="author"),
    Column(
        *("speedup", "speedup", lambda row: row.speedup),
        numeric=True,
        best_first=True,
        kind="number",
        doubt=lambda row: (row.disturbed, row.evaluation_id),
    ),
    Column("case", "case", lambda row: row.case),
    Column("device", "device", lambda row: row.device_name, kind="device"),
    Column("run", "run", lambda row: row.run_id, numeric=True, best_first=True, kind="run", minor=True),
    Column("started", "started, UTC", lambda row: row.started_at, best_first=True, kind="moment", minor=True),
)
"""Columns by which `db.queries.timeline` can sort."""


@page(router, "/evaluations", "evaluations.html")
def evaluations_page(
    site: SiteOf,
    filters: FiltersOf,
    status: ChosenStatus = None,
    category: ChosenCategory = None,
    run: ChosenRun = None,
    since: Since = None,
    step: Step = None,
    tag: Tag = None,
    search: Words = None,
    sort: Name = None,
    order: Name = None,
    number: PageNumber = 1,
) -> EvaluationsPage:
    words = (search or "").strip()
    among = site.memory.recall(("matching", words), lambda: matching(site.store, words)) if words else None
    choice = Choice(filters, status, category, run, since, step, tag, among)
    shown = listed(site, choice, sort, order, number)
    facets = site.timeline.facets(choice)
    names = [name for name, info in CATEGORIES.items() if status in (None, info.status)]
    training = text_field("step", None if step is None else str(step), "of training"), text_field("tag", tag, "name=value")
    return EvaluationsPage(
        value={"total": shown.total, "evaluations": shown.rows, "facets": facets},
        sheet=every(site, choice, sort, order),
        fields=(
            choice_field("status", status, Status, facets),
            choice_field("category", category, names if category in (None, *names) else CATEGORIES, facets),
            *fields_of(site, filters, "problem", "author", "device", "case", "precision", facets=facets),
            text_field("run", None if run is None else str(run), "number"),
            text_field("since", _text(since), "7d or 2026-05-01"),
            text_field("search", words or None, "code or message"),
            *(training if step is not None or tag or site.memory.recall(("origins",), lambda: are_any(site.store)) else ()),
        ),
        table=shown,
        filtered=choice != Choice(),
        most_found=MOST_FOUND if among is not None and len(among) == MOST_FOUND else None,
        unknown=None if shown.total else unknown_name(site, filters) or unknown_run(site, run),
    )


def listed(site: Site, choice: Choice, sort: str | None, order: str | None, number: int) -> Table[EvaluationSummary]:
    """Page `number` of the evaluations that match, or the last page if there are fewer. Default order: newest first."""
    descending, size = is_descending(COLUMNS, sort, order) if sort else True, site.page_rows
    total, ids = site.timeline.page(choice, size, (number - 1) * size, sort, descending=descending)
    if total and not ids:
        number = -(-total // size)
        total, ids = site.timeline.page(choice, size, (number - 1) * size, sort, descending=descending)
    return ordered_table(_columns(choice, total), site.disturbances.told(in_order(site.store, ids)), sort, order, number, total, size)


def every(site: Site, choice: Choice, sort: str | None, order: str | None) -> Iterator[EvaluationSummary]:
    """All evaluations that match, read in chunks on demand."""
    total, _ = site.timeline.page(choice, 0)
    descending = is_descending(COLUMNS, sort, order) if sort else True
    _, ids = site.timeline.page(choice, total, 0, sort, descending=descending)
    for first in range(0, len(ids), _BATCH):
        yield from site.disturbances.told(in_order(site.store, ids[first : first + _BATCH]))


def _columns(choice: Choice, total: int) -> tuple[Column[EvaluationSummary], ...]:
    """The columns. Names of submissions are sortable only if they are few enough; the run is left out if only one is listed."""
    shown = (column for column in COLUMNS if column.key != "run" or choice.run_id is None)
    return tuple(replace(column, sortable=False) if column.key == "submission" and total > MOST_NAMED else column for column in shown)


def _text(since: datetime | None) -> str | None:
    return None if since is None else since.isoformat(timespec="minutes").removesuffix("+00:00")
