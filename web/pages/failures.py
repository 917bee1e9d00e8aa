"""Failures by category, over time, and the evaluations behind a count."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter

from db.queries.leaderboard import Failures, failures
from db.queries.runs import EvaluationSummary, of_ids
from evaluator.results.category import CATEGORIES, Category, CategoryInfo, Status
from web.charts import in_stretches
from web.filters import FiltersOf, PageNumber
from web.forms import Field, fields_of
from web.site import PageContent, SiteOf, page
from web.tables import PAGE_ROWS

router = APIRouter()


@dataclass(frozen=True)
class FailuresPage(PageContent):
    """What went wrong, how often, and when."""

    fields: tuple[Field, ...]
    failures: Failures
    stretches: Mapping[datetime, Mapping[Category, int]]
    """Evaluations that began from that moment on, history included."""
    categories: tuple[Category, ...]
    """Those that occur, most frequent first."""
    infos: Mapping[Category, CategoryInfo]


@dataclass(frozen=True)
class EvaluationsPage(PageContent):
    """Evaluations that fit, newest first."""

    fields: tuple[Field, ...]
    category: Category | None
    rows: tuple[EvaluationSummary, ...]
    total: int
    number: int
    pages: int
    categories: tuple[Category, ...] = tuple(category for category, info in CATEGORIES.items() if info.status is not Status.NOT_EVALUATED)


@page(router, "/failures", "failures.html")
def failures_page(site: SiteOf, filters: FiltersOf) -> FailuresPage:
    counts = failures(site.store, filters)
    hours = site.memory.recall(("hours", filters), lambda: site.timeline.counts(filters))
    stretches, length = in_stretches(hours)
    occurring = {category: sum(found[category] for found in stretches.values()) for category in Category}
    return FailuresPage(
        value={
            "evaluations": counts.evaluations,
            "counts": counts.counts,
            "stretch_s": length.total_seconds(),
            "over_time": [{"from": moment, "categories": dict(found)} for moment, found in stretches.items()],
        },
        fields=fields_of(site, filters, "problem", "author", "device", "case", "precision"),
        failures=counts,
        stretches=stretches,
        categories=tuple(sorted((category for category in Category if occurring[category]), key=lambda category: -occurring[category])),
        infos=CATEGORIES,
    )


@page(router, "/evaluations", "evaluations.html")
def evaluations_page(site: SiteOf, filters: FiltersOf, category: str = "", number: PageNumber = 1) -> EvaluationsPage:
    wanted = Category(category) if category in set(Category) else None
    total, ids = site.timeline.latest(PAGE_ROWS, (number - 1) * PAGE_ROWS, wanted, filters)
    rows = of_ids(site.store, ids)
    return EvaluationsPage(
        value={"total": total, "evaluations": rows},
        fields=fields_of(site, filters, "problem", "author", "device", "case", "precision"),
        category=wanted,
        rows=rows,
        total=total,
        number=number,
        pages=max(1, -(-total // PAGE_ROWS)),
    )
