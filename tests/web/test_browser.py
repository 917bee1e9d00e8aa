"""The pages in a real browser: at two widths, by mouse and by keyboard, with long and hostile names, and while a run goes on.

If ASSAY_SCREENSHOTS names a folder, pictures of all pages at both widths and in both colour schemes are left in it.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from db.store import Store
from evaluator.results.category import Category
from evaluator.results.evidence import ConditionsEvidence, Evidence
from tests.db.samples import environment, failed, full_evidence, result, sha256, solved, stored_run, timing
from tests.web import made_up
from tests.web.conftest import PROBLEM_SOURCE, put
from tests.web.serving import served
from tests.web.windows import WIDTHS, Windows, follow
from web.charts import Theme

pytestmark = pytest.mark.slow(55)

# A busy machine takes many seconds to draw a picture.
expect.set_options(timeout=240_000)

HOSTILE = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>\"' onfocus='window.hacked=1' \u202e{{7*7}}"
FOLDER = os.environ.get("ASSAY_SCREENSHOTS")
VIEWS: list[tuple[int, Theme]] = [(WIDTHS[0], "light"), (WIDTHS[1], "dark")]
VIEWS += [(WIDTHS[0], "dark"), (WIDTHS[1], "light")] if FOLDER else []
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
    "authors_compare": "/authors/compare?left=ada&right=qwen3-coder-480b-a35b-instruct",
    "runs": "/runs",
    "runs_compare": "/runs/compare?show=all",
}
"""Addresses, by the name of their picture. Evaluations are others."""
EVALUATIONS = ("ok", "wrong_values", "cuda_compile_error", "syntax_error", "no_device")
READ = ("leaderboard", "overall", "evaluations", "failures", "search", "run", "evaluation_wrong_values", "compare", "authors_compare")
"""Pages whose text's contrast is measured."""
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
# Web Content Accessibility Guidelines 2.1, success criterion 1.4.3: at least 4.5 to 1.
PALE = """elements => {
    const light = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
        const [r, g, b] = parts.map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = (element) => {
        const colour = getComputedStyle(element).backgroundColor;
        return colour === 'rgba(0, 0, 0, 0)' && element.parentElement ? paper(element.parentElement) : colour;
    };
    return elements.filter((element) => element.textContent.trim() && element.offsetParent !== null).map((element) => {
        const [a, b] = [light(getComputedStyle(element).color), light(paper(element))];
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.outerHTML.slice(0, 80)];
    }).filter(([ratio]) => ratio < 4.5);
}"""
"""Text that can't be read well on its paper."""
PICTURES = """Promise.all([...document.images].map((image) => {
    image.loading = 'eager';
    return image.decode().then(() => [image.naturalWidth, image.currentSrc]);
}))"""


@pytest.fixture(scope="module")
def week(ready_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, int]]]:
    """The address of the pages of a week of evaluations with long names, and ids of evaluations by category."""
    path = tmp_path_factory.mktemp("week") / "assay.db"
    shutil.copy(ready_file, path)
    with Store.open(f"sqlite:///{path}") as store:
        ids = made_up.fill(store)
        with served(store) as address:
            yield address, ids


@pytest.fixture
def busy(browser: Browser, week: tuple[str, dict[str, int]]) -> Iterator[Windows]:
    """Windows of the week's pages."""
    opened = Windows(browser, week[0])
    yield opened
    opened.close()


@pytest.fixture
def windows(browser: Browser, store: Store) -> Iterator[Windows]:
    """Windows of the test's own database."""
    with served(store) as address:
        opened = Windows(browser, address)
        yield opened
        opened.close()


def fits(page: Page, width: int) -> bool:
    """Whether the page is not wider than the window, in which it can't be moved aside."""
    page.evaluate("window.scrollTo(10000, scrollY)")
    return bool(page.evaluate("[document.documentElement.scrollWidth, scrollX]") == [width, 0])


@pytest.mark.parametrize(("width", "theme"), VIEWS)
def test_every_page_fits_and_can_be_read(busy: Windows, week: tuple[str, dict[str, int]], width: int, theme: Theme) -> None:
    page = busy.open(width, theme)
    shown = {f"evaluation_{name}": f"/evaluation/{number}" for name, number in week[1].items() if FOLDER or name in EVALUATIONS}
    narrow = width == min(WIDTHS)  # what fits there has room where it is wide
    for name, path in {name: path for name, path in (PAGES | shown).items() if FOLDER or narrow or name in READ}.items():
        page.goto(path)
        assert page.locator("h1").count() == 1 and page.title().endswith("· Assay"), path
        for wide, source in page.evaluate(PICTURES):
            assert wide > 0 and f"theme={theme}" in source, path
        red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")[:3]
        assert (red + green + blue > 600) is (theme == "light"), path
        if FOLDER:
            height = min(MAX_HEIGHT, page.evaluate("document.documentElement.scrollHeight"))
            clip: Any = {"x": 0, "y": 0, "width": width, "height": height}
            page.screenshot(path=Path(FOLDER) / f"{name}_{width}_{theme}.png", full_page=True, clip=clip)
        assert fits(page, width), path
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert fits(page, width), (path, "all opened")
        for plot in page.locator(".plot img").evaluate_all("all => all.map((each) => each.getBoundingClientRect().width)"):
            assert plot > 500, (path, "text in a smaller plot can't be read")
        if name in READ:
            found = page.locator("a, p, td, th, dt, dd, h1, h2, label, summary, small, .verdict, .folder, .dim, button, .remark")
            assert found.evaluate_all(PALE) == [], path


@pytest.mark.parametrize("width", [min(WIDTHS), 1000])
def test_rows_can_be_told_apart_and_their_heads_stay_in_sight(busy: Windows, width: int) -> None:
    page = busy.open(width)
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
        if width == min(WIDTHS):
            boxes = table.locator("thead th").evaluate_all(
                "all => all.map((each) => each.getBoundingClientRect()).filter((box) => box.width).map((box) => [box.left, box.right])"
            )
            assert all(left >= 0 and right <= width for left, right in boxes), (path, "no order is cut off")
            # Where no order can be chosen there is no line of orders.
            assert len(boxes) == table.locator("thead th[aria-sort]").count() and bool(boxes) is ("sort" in table.inner_html()), path
            continue
        table.locator("tbody tr").last.scroll_into_view_if_needed()
        head = table.locator("thead th").first.bounding_box()
        assert page.evaluate("scrollY") > 300 and head is not None and 0 <= head["y"] < 20, path
    for path in ("/compare?left=best&right=1", "/runs/compare") if width == min(WIDTHS) else ():
        page.goto(path)
        assert page.locator(".sides td").evaluate_all(BROKEN) == [], path


def test_words_tell_what_they_mean_under_the_mouse_and_on_focus(busy: Windows) -> None:
    page = busy.open()
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


def test_an_evaluation_tells_the_outcome_first_and_shows_the_model(busy: Windows, week: tuple[str, dict[str, int]]) -> None:
    for width in WIDTHS:
        page = busy.open(width)
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
        frame = page.get_by_role("region", name="Correctness rounds")
        if width == WIDTHS[1]:
            assert frame.evaluate("frame => { frame.scrollLeft = 10000; return frame.scrollLeft; }") > 100
            first, around = frame.locator("tbody td").first.bounding_box(), frame.bounding_box()
            assert first is not None and around is not None and first["x"] >= around["x"] - 1, "what a row is of stays in sight"


def test_sorting_filters_and_the_search_work_without_scripts(busy: Windows) -> None:
    page = busy.open(WIDTHS[1], scripts=False)
    page.goto("/evaluations")
    follow(page.locator("thead").get_by_role("link", name="started, UTC", exact=True))
    assert "sort=started" in page.url
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("started")
    moments = page.locator("tbody td.k-moment").all_inner_texts()
    assert moments == sorted(moments, reverse=True) and len(moments) == 100
    page.get_by_text("Filters").click()
    page.locator("select[name=problem]").select_option("softmax")
    follow(page.get_by_role("button", name="Show"))
    assert set(page.locator("tbody td.k-problem").all_inner_texts()) == {"softmax"} and "problem=softmax" in page.url
    page.reload()
    expect(page.locator("select[name=problem]")).to_have_value("softmax")
    box = page.get_by_role("searchbox")
    box.fill("minGPT")
    box.press("Enter")
    page.get_by_role("link", name="level3/43_MinGPTCausalAttention", exact=True).click()
    expect(page.locator("h1")).to_have_text("level3/43_MinGPTCausalAttention")
    page.goto("/search?q=%2312")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="12", exact=True).click()
    expect(page.locator("h1")).to_contain_text("Evaluation 12")


def test_a_chosen_filter_applies_at_once_and_keys_end_at_the_button(busy: Windows) -> None:
    page = busy.open()
    page.goto("/evaluations")
    with page.expect_navigation(wait_until="load"):
        page.locator("select[name=problem]").select_option("softmax")
    assert set(page.locator("tbody td.k-problem").all_inner_texts()) == {"softmax"} and "problem=softmax" in page.url
    page.locator("select[name=problem]").press("Home")
    assert "problem=softmax" in page.url
    follow(page.get_by_role("button", name="Show"))
    assert "problem=softmax" not in page.url and len(set(page.locator("tbody td.k-problem").all_inner_texts())) > 1


def test_the_keyboard_is_enough(windows: Windows, ids: dict[str, int]) -> None:
    page = windows.open()
    page.goto("/leaderboard")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the page"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim().slice(0, 12)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", reached[-1]
        if reached[-1] == "author":
            break
    assert reached[-1] == "author" and "Show" in reached
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=author**")
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("author")


def test_a_hostile_name_is_a_name(windows: Windows, store: Store, url: str) -> None:
    names: dict[str, Any] = dict.fromkeys(("submission", "author", "problem", "case", "message"), HOSTILE)
    put(store, result(**names, environment=environment(HOSTILE), evidence=full_evidence(HOSTILE)), HOSTILE)
    shown = HOSTILE.replace("\u202e", "\\u202e")
    page = windows.open()
    page.goto("/leaderboard")
    page.locator('tbody a[href^="/submission"]').first.click()
    expect(page.locator("h1")).to_have_text(shown)
    assert page.url.partition("?")[2] == urlencode({"name": HOSTILE})
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[0]
    page.goto("/live")
    expect(page.locator("#state")).to_contain_text("Live")
    with Store.open(url) as working:
        working.start_run(["pipeline.py", HOSTILE])
        working.save(result(Category.TIMEOUT, **names | {"submission": "late " + HOSTILE}), HOSTILE)
    row = page.locator("#arrivals tbody tr").first
    expect(row).to_contain_text("late " + shown)
    expect(page.locator("#runs tbody tr").first).to_contain_text(shown)
    row.get_by_role("link", name="late").click()
    expect(page.locator("h1")).to_have_text("late " + shown)


def test_a_run_is_seen_at_work(browser: Browser, store: Store, url: str) -> None:
    with served(store) as address:
        page = browser.new_page(base_url=address)
        page.set_default_timeout(240_000)
        page.goto("/live")
        expect(page.locator("#state")).to_contain_text("Live: nothing new yet.")
        page.evaluate("window.same = true")
        with Store.open(url) as working:
            working.start_run(["pipeline.py", "double"], 2)
            expect(page.locator("#runs tbody tr")).to_contain_text("pipeline.py")
            assert page.locator("#runs tbody td").nth(4).inner_text() == "", "it is under way"
            expect(page.locator("#runs progress")).to_have_attribute("max", "2")
            expect(page.locator("#marks")).not_to_be_visible()
            shared = Evidence(timing=timing(2.0), conditions=ConditionsEvidence(shared=True))
            put(working, solved("right.py", 2.0, evidence=shared))
            put(working, result(Category.WRONG_VALUES, submission="wrong.py"))
            expect(page.locator("#arrivals tbody tr")).to_have_count(2)
        expect(page.locator("#arrivals")).to_contain_text("right.py")
        mark = page.get_by_role("link", name="doubtful: others' processes were on the device")
        expect(mark).to_have_text("*")
        expect(page.locator("#marks")).to_be_visible()
        expect(page.locator("#arrivals")).to_contain_text("incorrect/wrong_values")
        expect(page.locator("#runs tbody td").nth(4)).not_to_be_empty()
        expect(page.locator("#runs tbody td").nth(1)).to_have_text("2 of 2")
        assert page.evaluate("window.same") is True, "the page was not loaded again"
        page.close()


@pytest.fixture
def numbers(store: Store) -> list[int]:
    """Three ranked submissions of one problem; their sources differ in a line."""
    common = "".join(f"line_{number} = {number}\n" for number in range(30))
    found = []
    for author, speedup in (("ada", 3.0), ("bob", 2.0), ("cyd", 1.0)):
        source = f"{common}author = '{author}'\n{common}"
        made = solved(f"{author}.py", speedup, author=author, source_sha256=sha256(source))
        found.append(store.save(made, source, PROBLEM_SOURCE))
    return found


def test_two_submissions_are_chosen_by_keyboard_and_compared_without_scripts(windows: Windows, numbers: list[int]) -> None:
    page = windows.open(scripts=False)
    page.goto("/problem?name=softmax")
    left = page.get_by_label(f"Evaluation {numbers[1]} on the left")
    expect(left).to_be_checked()
    left.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label(f"Evaluation {numbers[2]} on the left")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(f"Evaluations {numbers[2]} and {numbers[0]}")
    expect(page.locator(".lead")).to_contain_text("3.000 times as fast as the left one")
    folded = page.locator(".diff details").first
    expect(folded.locator("code").first).not_to_be_visible()
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(folded.locator("code").first).to_be_visible()


def test_sources_are_side_by_side_where_there_is_room_and_else_below_each_other(windows: Windows, numbers: list[int]) -> None:
    for width, theme in VIEWS[:2]:
        page = windows.open(width, theme)
        page.goto(f"/compare?left={numbers[0]}&right={numbers[1]}")
        left, right = (page.locator(f".diff .changed .{side} code").bounding_box() for side in ("left", "right"))
        assert left is not None and right is not None
        equal = page.locator(".diff > .equal .right").first
        if width == WIDTHS[0]:
            assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
            expect(equal).to_be_visible()
        else:
            assert left["x"] == right["x"] and left["y"] + left["height"] <= right["y"]
            expect(equal).not_to_be_visible()
        assert fits(page, width)
        papers = page.locator(".diff .changed > div").evaluate_all("all => all.map((each) => getComputedStyle(each).backgroundColor)")
        assert len(set(papers)) == 2, "the sides can be told apart"
        signs = page.locator(".diff .changed .number").evaluate_all("all => all.map((each) => getComputedStyle(each, '::after').content)")
        assert signs == ['" −"', '" +"'], "and not by colour alone"


def test_two_runs_are_chosen_and_the_broken_come_first(windows: Windows, url: str) -> None:
    stored_run(url, solved("a.py", 2.0), solved("b.py", 2.0), solved("c.py", 2.0))
    stored_run(url, failed("b.py"), solved("c.py", 3.0), solved("a.py", 2.0))
    page = windows.open(WIDTHS[1], scripts=False)
    page.goto("/runs")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("h1")).to_have_text("Runs 1 and 2")
    expect(page.locator("tbody .change")).to_have_text(["broke", "faster"])
    page.get_by_role("link", name="1 unchanged").click()
    expect(page.locator("tbody .change")).to_have_text(["unchanged"])
    page.get_by_role("link", name="side by side").click()
    expect(page.get_by_text("Both sources are the same.")).to_be_visible()
