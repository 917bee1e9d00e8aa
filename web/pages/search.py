"""The search page: problems, submissions, authors, runs, evaluations by number, and categories."""

from dataclasses import dataclass, replace

from fastapi import APIRouter

from db.queries.search import Found, search
from evaluator.results.category import CATEGORIES, Category, CategoryInfo
from web.filters import Name
from web.site import PageContent, SiteOf, page

router = APIRouter()
SHOWN = 20
"""Maximum names shown of each kind; typing more letters finds others."""


@dataclass(frozen=True)
class SearchPage(PageContent):
    """The matches, by kind."""

    text: str
    found: Found
    limit: int
    infos: dict[Category, CategoryInfo]


@page(router, "/search", "search.html")
def search_page(site: SiteOf, q: Name = None) -> SearchPage:
    text = (q or "").strip()
    found = site.memory.recall(("search", text), lambda: search(site.store, text, SHOWN))
    found = replace(found, evaluations=site.disturbances.told(found.evaluations))
    return SearchPage(value=found, text=text, found=found, limit=SHOWN, infos=CATEGORIES)
