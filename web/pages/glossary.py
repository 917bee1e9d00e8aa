"""What the words of the pages mean."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter

from evaluator.results.category import CATEGORIES, CategoryInfo, Status
from web.glossary import GROUPS, TERMS
from web.site import PageContent, page

router = APIRouter()


@dataclass(frozen=True)
class GlossaryPage(PageContent):
    """All terms, by subject, and all categories, by status."""

    groups: Mapping[str, Mapping[str, str]]
    categories: Mapping[Status, Mapping[str, CategoryInfo]]


@page(router, "/glossary", "glossary.html")
def glossary_page() -> GlossaryPage:
    by_status = {
        status: {category.value: info for category, info in CATEGORIES.items() if info.status is status}
        for status in dict.fromkeys(info.status for info in CATEGORIES.values())
    }
    return GlossaryPage(TERMS, GROUPS, by_status)
