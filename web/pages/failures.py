"""Failures by category, and over time."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter

from db.queries.facets import failure_facets
from db.queries.leaderboard import CategoryCount, Failures, failures
from db.queries.timeline import Intervals
from evaluator.results.category import CATEGORIES, Category, CategoryInfo
from web.filters import FiltersOf, Name
from web.forms import Field, fields_of, unknown_name
from web.site import PageContent, SiteOf, page
from web.tables import Column, Table, table

router = APIRouter()


@dataclass(frozen=True)
class FailuresPage(PageContent):
    """Failures: categories, counts, and times."""

    fields: tuple[Field, ...]
    failures: Failures
    table: Table[CategoryCount]
    unknown: str | None
    """Message about an unknown filter value, if nothing matches."""
    intervals: Intervals
    """Evaluations by the interval in which they began, history included."""
    categories: tuple[Category, ...]
    """Categories that occur, most frequent first."""
    infos: Mapping[Category, CategoryInfo]


COLUMNS: tuple[Column[CategoryCount], ...] = (
    Column("status", "status", lambda row: row.status.value),
    Column("category", "category", lambda row: row.category.value),
    Column("meaning", "meaning", None, text=lambda row: CATEGORIES[row.category].meaning),
    Column("count", "count", lambda row: row.count, numeric=True, best_first=True),
    Column("share", "share", None, numeric=True, text=lambda row: row.count),
)


@page(router, "/failures", "failures.html")
def failures_page(site: SiteOf, filters: FiltersOf, sort: Name = None, order: Name = None) -> FailuresPage:
    counts = failures(site.store, filters)
    facets = site.memory.recall(("failure facets", filters), lambda: failure_facets(site.store, filters))
    intervals = site.memory.recall(("intervals", filters), lambda: site.timeline.counts(filters))
    occurring = {category: sum(found[category] for found in intervals.counts.values()) for category in Category}
    shown = table(COLUMNS, counts.counts, sort, order)
    return FailuresPage(
        value={
            "evaluations": counts.evaluations,
            "counts": shown.every,
            "facets": facets,
            "stretch_s": intervals.length.total_seconds(),
            "over_time": [{"from": moment, "categories": dict(found)} for moment, found in intervals.counts.items()],
        },
        fields=fields_of(site, filters, "problem", "author", "device", "case", "precision", facets=facets),
        sheet=shown.every,
        failures=counts,
        table=shown,
        unknown=None if counts.evaluations else unknown_name(site, filters),
        intervals=intervals,
        categories=tuple(sorted((category for category in Category if occurring[category]), key=lambda category: -occurring[category])),
        infos=CATEGORIES,
    )
