"""Takes the documents' pictures of the pages.

    python -m tests.web.screenshots [--db URL] FOLDER

of the database that `make demo-all` fills. Needs Chromium.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from db import DEFAULT_DATABASE
from db.queries.evaluations import Choice
from db.queries.filters import Filters
from db.queries.leaderboard import leaderboard
from db.queries.timeline import Timeline
from db.store import Store
from evaluator.results.category import Category
from tests.web import windows
from tests.web.serving import served

WIDE, NARROW = (1280, 860), (390, 844)


@dataclass(frozen=True)
class Shot:
    """One picture."""

    name: str
    path: str
    size: tuple[int, int] = WIDE
    theme: Literal["light", "dark"] = "light"
    at: str = "h1"
    """What is in the middle of it, as far as the page goes."""


def shots(store: Store) -> Iterator[Shot]:
    """Pages that the database has something for."""
    timeline = Timeline(store)
    yield Shot("overall", "/")
    yield Shot("failures", "/failures", theme="dark")
    yield Shot("live", "/live", NARROW, "dark")
    for best in leaderboard(store):
        wrong = timeline.page(Choice(Filters(problem=best.problem), category=Category.WRONG_VALUES), 1)[1]
        if wrong:
            yield Shot("problem", f"/problem?name={best.problem}")
            yield Shot("compare", f"/compare?left={min(wrong)}&right={best.evaluation_id}", at="#source")
            break
    for name, category, at in (("source", Category.CONST_POINTER, ".marked"), ("error", Category.UNWRITTEN_OUTPUT, "img[src*=error]")):
        for number in timeline.page(Choice(category=category), 1)[1]:
            yield Shot(name, f"/evaluation/{number}", at=at)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.web.screenshots", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--db", metavar="DB", default=DEFAULT_DATABASE)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    with Store.open(options.db, read_only=True) as store, served(store) as address, windows.running() as browser:
        for shot in shots(store):
            width, height = shot.size
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=shot.theme)
            page.goto(address + shot.path)
            page.evaluate("Promise.all([...document.images].map(image => { image.loading = 'eager'; return image.decode(); }))")
            page.locator(shot.at).first.evaluate("element => element.scrollIntoView({ block: 'center' })")
            page.screenshot(path=options.folder / f"{shot.name}.png")
            page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
