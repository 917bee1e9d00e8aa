"""Two authors side by side: boards won, tied and lost, and the causes of their failures."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Query

from db.queries.compare import AuthorComparison, ComparedBoard, compare, told
from db.queries.filters import Filters
from db.queries.leaderboard import Failures, failures
from evaluator.results.category import Category
from evaluator.results.display.text import natural, plain_block
from web.filters import MAX_NAME, Name, PageNumber
from web.forms import known_names, unknown_name
from web.site import BadRequestError, NotFoundError, PageContent, Site, SiteOf, page
from web.tables import Column, Table, table

router = APIRouter()
Author = Annotated[str, Query(min_length=1, max_length=MAX_NAME)]


@dataclass(frozen=True)
class TwoAuthorsPage(PageContent):
    """The author on the left and the one on the right."""

    found: AuthorComparison
    """The right author against the left one, as the ratio is the right side's."""
    table: Table[ComparedBoard]
    failures: tuple[Failures, Failures]
    causes: tuple[tuple[Category, int, int], ...]
    """Each category with the counts of both, the most frequent first."""


@page(router, "/authors/compare", "two_authors.html")
def two_authors_page(
    site: SiteOf, left: Author, right: Author, sort: Name = None, order: Name = None, number: PageNumber = 1
) -> TwoAuthorsPage:
    left, right = (_known(site, name) for name in (left, right))
    if left == right:
        raise BadRequestError(f"Both sides are {left}. Name two authors, as in /authors/compare?left=one&right=other.")
    found = compare(site.store, right, left)

    def marked(boards: tuple[ComparedBoard, ...]) -> AuthorComparison:
        return told(replace(found, boards=boards), site.disturbances)

    counts = failures(site.store, Filters(author=left)), failures(site.store, Filters(author=right))
    shown = table(_columns(found), found.boards, sort, order, number, order_of_rows="problem")
    return TwoAuthorsPage(
        value=lambda: {"comparison": marked(found.boards), "failures": {left: counts[0], right: counts[1]}},
        sheet=(row for boards in (shown.every,) for row in marked(boards).boards),
        found=found,
        table=replace(shown, rows=marked(shown.rows).boards),
        failures=counts,
        causes=_causes(*counts),
    )


def _known(site: Site, name: str) -> str:
    """The author with this name, or else one who is shown so: a form sends what a page shows. Raises NotFoundError."""
    missing = unknown_name(site, Filters(author=name))
    if not missing:
        return name
    shown = (each for each in known_names(site)["author"] if plain_block(each) == plain_block(name))
    found = next(shown, None)
    if found is None:
        raise NotFoundError(missing)
    return found


def _columns(found: AuthorComparison) -> tuple[Column[ComparedBoard], ...]:
    winners = {"first": found.first, "second": found.second, "tie": "tie", "neither": None}
    return (
        Column("problem", "problem", lambda row: natural(row.problem), kind="problem", text=lambda row: row.problem),
        Column(
            *("left", f"speedup of {found.second}", lambda row: row.second),
            numeric=True,
            best_first=True,
            kind="number",
            always=True,
            doubt=lambda row: (row.second_disturbed, row.second_id),
        ),
        Column(
            *("right", f"speedup of {found.first}", lambda row: row.first),
            numeric=True,
            best_first=True,
            kind="number",
            always=True,
            doubt=lambda row: (row.first_disturbed, row.first_id),
        ),
        Column("ratio", "ratio", lambda row: row.ratio, numeric=True, best_first=True, kind="number"),
        Column("winner", "winner", lambda row: winners[row.outcome]),
        Column("case", "case", lambda row: row.case),
        Column("device", "device", lambda row: row.device_name, kind="device"),
        Column("precision", "precision", lambda row: None if row.precision == "own" else row.precision, text=lambda row: row.precision),
    )


def _causes(left: Failures, right: Failures) -> tuple[tuple[Category, int, int], ...]:
    counts = [{item.category: item.count for item in of_author.counts} for of_author in (left, right)]
    found = [(category, counts[0].get(category, 0), counts[1].get(category, 0)) for category in counts[0].keys() | counts[1].keys()]
    return tuple(sorted(found, key=lambda cause: (-cause[1] - cause[2], cause[0])))
