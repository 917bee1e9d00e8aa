"""The pages' layout in a real browser, with a week of evaluations and long names.

Pictures of all pages at both widths and in both colour schemes are left in the folder ASSAY_SCREENSHOTS, or else in pytest's.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from db.store import Store
from tests.web import made_up
from tests.web.serving import served
from tests.web.windows import WIDTHS, Windows, follow
from web.charts import Theme

pytestmark = pytest.mark.slow(40)

FOLDER = "ASSAY_SCREENSHOTS"
MAX_HEIGHT = 4000
TABLES = ("/leaderboard", "/leaderboard?problem=softmax&all=true", "/evaluations", "/run/1", "/author?name=ada", "/live")
PAGES = {
    "overall": "/",
    "leaderboard": "/leaderboard",
    "problems": "/problems",
    "problem": "/problem?name=softmax",
    "author": "/author?name=claude-opus",
    "submission": "/submission?name=runs/2026-05/ada/softmax_sample_0.py",
    "evaluations": "/evaluations",
    "incorrect": "/evaluations?status=incorrect&since=30d&sort=author",
    "failures": "/failures",
    "live": "/live",
    "run": "/run/1",
    "search": "/search?q=soft",
    "search_nothing": "/search?q=softmx",
    "glossary": "/glossary",
    "compare": "/compare?left=best&right=1",
    "compare_nothing": "/compare",
    "runs": "/runs",
    "runs_compare": "/runs/compare?show=all",
}
"""Addresses, by the name of their picture. `evaluation_pages` are others."""
BROKEN = """names => {
    const broken = [];
    for (const name of names) {
        const words = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
        while (words.nextNode()) {
            for (const word of words.currentNode.data.matchAll(/[^\\s-]+/g)) {
                const range = document.createRange();
                range.setStart(words.currentNode, word.index);
                range.setEnd(words.currentNode, word.index + word[0].length);
                const lines = new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top)));
                if (lines.size > 1) broken.push(word[0]);
            }
        }
    }
    return broken;
}"""
"""Words of names that go over a line's end."""


@pytest.fixture(scope="module")
def week(ready_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, int]]]:
    """The address of the pages, and ids of evaluations by category."""
    path = tmp_path_factory.mktemp("week") / "assay.db"
    shutil.copy(ready_file, path)
    with Store.open(f"sqlite:///{path}") as store:
        ids = made_up.fill(store)
        with served(store) as address:
            yield address, ids


@pytest.fixture
def windows(browser: Browser, week: tuple[str, dict[str, int]]) -> Iterator[Windows]:
    opened = Windows(browser, week[0])
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ[FOLDER]) if os.environ.get(FOLDER) else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def evaluation_pages(ids: dict[str, int]) -> dict[str, str]:
    return {f"evaluation_{category}": f"/evaluation/{number}" for category, number in ids.items()}


def fits(page: Page, width: int) -> bool:
    """Whether the page is not wider than the window, in which it can't be moved aside."""
    page.evaluate("window.scrollTo(10000, scrollY)")
    return bool(page.evaluate("[document.documentElement.scrollWidth, scrollX]") == [width, 0])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window(
    windows: Windows, week: tuple[str, dict[str, int]], pictures: Path, width: int, theme: Theme
) -> None:
    page = windows.open(width, theme)
    for name, path in (PAGES | evaluation_pages(week[1])).items():
        page.goto(path)
        page.evaluate("Promise.all([...document.images].map(image => { image.loading = 'eager'; return image.decode(); }))")
        height = min(MAX_HEIGHT, page.evaluate("document.documentElement.scrollHeight"))
        page.screenshot(
            path=pictures / f"{name}_{width}_{theme}.png", full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height}
        )
        assert fits(page, width), path
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert fits(page, width), (path, "all opened")
    assert len(list(pictures.glob(f"*_{width}_{theme}.png"))) >= len(PAGES) + len(week[1])


@pytest.mark.parametrize("width", [*WIDTHS, 1280, 1000])
def test_rows_can_be_told_apart_and_their_heads_stay_in_sight(windows: Windows, width: int) -> None:
    page = windows.open(width)
    for path in TABLES:
        page.goto(path)
        assert fits(page, width), path
        table = page.locator("table.grid").last
        for kind in ("problem", "submission", "author"):
            boxes = table.locator(f"tbody td.k-{kind} a.name").evaluate_all(
                "all => all.map((each) => { const box = each.getBoundingClientRect(); return [box.left, box.right, box.width]; })"
            )
            assert boxes and all(left >= 0 and right <= width and wide > 20 for left, right, wide in boxes), (path, kind)
        assert table.locator(".name").evaluate_all(BROKEN) == [], path
        table.locator("tbody tr").last.scroll_into_view_if_needed()
        head = table.locator("thead th").first.bounding_box()
        assert page.evaluate("scrollY") > 300 and head is not None and 0 <= head["y"] < 20, path


def test_what_is_side_by_side_on_a_narrow_screen_breaks_no_word(windows: Windows) -> None:
    page = windows.open(min(WIDTHS))
    for path in ("/compare?left=best&right=1", "/runs/compare"):
        page.goto(path)
        assert page.locator(".sides td").evaluate_all(BROKEN) == [], path


def test_a_sort_on_a_narrow_screen_is_one_of_the_heads(windows: Windows) -> None:
    page = windows.open(WIDTHS[1])
    page.goto("/evaluations")
    follow(page.locator("thead").get_by_role("link", name="started, UTC", exact=True))
    assert "sort=started" in page.url
    moments = page.locator("tbody td.k-moment").all_inner_texts()
    assert moments == sorted(moments, reverse=True) and len(moments) == 100


def test_words_tell_what_they_mean_under_the_mouse_and_on_focus(windows: Windows) -> None:
    page = windows.open()
    told = "element => getComputedStyle(element, '::after').content"
    page.goto("/leaderboard")
    speedup = page.locator("thead .k-speedup .sort")
    assert speedup.evaluate(told) == "none"
    speedup.hover()
    assert "above 1, the submission is faster" in speedup.evaluate(told)
    board = page.locator(".bar .term").first
    assert board.evaluate(told) == "none"
    page.keyboard.press("Tab")
    for _ in range(40):
        if board.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    assert "The leaderboard of one problem" in board.evaluate(told)
    follow(page.get_by_role("link", name="speedup in the glossary"))
    assert page.url.endswith("/glossary#term-speedup")
    expect(page.locator(":target")).to_have_text("speedup")


def test_an_evaluation_tells_the_outcome_first_and_shows_the_model(windows: Windows, week: tuple[str, dict[str, int]]) -> None:
    for width in WIDTHS:
        page = windows.open(width)
        page.goto(f"/evaluation/{week[1]['wrong_values']}")
        outcome = page.locator(".outcome").bounding_box()
        assert outcome is not None and outcome["y"] + outcome["height"] < 500
        for text in ("incorrect", "3 of 1024 elements are wrong", "What to do"):
            expect(page.locator(".outcome")).to_contain_text(text)
        assert page.evaluate("document.documentElement.scrollHeight") < (3600 if width == WIDTHS[0] else 4800)
        shown = """box => {
            const line = [...box.querySelectorAll('tr')].find((row) => row.textContent.includes('class ModelNew'));
            const [inner, outer] = [line.getBoundingClientRect(), box.getBoundingClientRect()];
            return inner.top >= outer.top && inner.bottom <= outer.bottom;
        }"""
        assert page.locator(".source").evaluate(shown) is True
        bar = page.locator(".idbar")
        page.locator("footer").scroll_into_view_if_needed()
        expect(bar).to_be_visible()
        place = bar.bounding_box()
        assert place is not None and place["y"] == 0
        expect(bar).to_contain_text("incorrect")
        expect(page.locator("#evidence details[open] h2").first).to_have_text("Correctness rounds")


def test_the_box_finds_things_without_scripts(windows: Windows) -> None:
    page = windows.open(scripts=False)
    page.goto("/live")
    box = page.get_by_role("searchbox")
    box.fill("minGPT")
    box.press("Enter")
    page.get_by_role("link", name="level3/43_MinGPTCausalAttention", exact=True).click()
    expect(page.locator("h1")).to_have_text("level3/43_MinGPTCausalAttention")
    page.goto("/search?q=%2312")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="12", exact=True).click()
    expect(page.locator("h1")).to_contain_text("Evaluation 12")
