"""The pages in a real browser: at two widths, by mouse and by keyboard, with hostile names, and while a pipeline runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from db.store import Store
from evaluator.results.category import Category
from tests.command_line import RUN_S, Bench, submission
from tests.db.samples import environment, full_evidence, result
from tests.web.conftest import put
from tests.web.serving import served
from tests.web.windows import WIDTHS, Windows, follow
from web.charts import Theme

pytestmark = pytest.mark.slow(20)

# A busy machine takes many seconds to draw a picture.
expect.set_options(timeout=60_000)

HOSTILE = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>\"' onfocus='window.hacked=1' \u202e{{7*7}}"


@pytest.fixture
def address(store: Store) -> Iterator[str]:
    with served(store) as found:
        yield found


@pytest.fixture
def windows(browser: Browser, address: str) -> Iterator[Windows]:
    opened = Windows(browser, address)
    yield opened
    opened.close()


def paths(ids: dict[str, int]) -> list[str]:
    return [
        *("/", "/leaderboard", "/problems", "/problem?name=softmax", "/author?name=ada", "/submission?name=wrong.py", "/failures"),
        *("/evaluations", f"/evaluation/{ids['failed']}", f"/evaluation/{ids['timed']}", "/live", "/run/1"),
        *("/runs", f"/compare?left={ids['failed']}&right={ids['timed']}", "/compare?left=best&right=1", "/glossary"),
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_and_works(windows: Windows, ids: dict[str, int], width: int, theme: Theme) -> None:
    page = windows.open(width, theme)
    for path in paths(ids):
        page.goto(path)
        assert page.locator("h1").count() == 1 and page.title().endswith("· Assay"), path
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        for picture in page.locator("img").all():
            picture.scroll_into_view_if_needed()
            expect(picture).to_have_js_property("complete", True)
            assert picture.evaluate("image => image.naturalWidth") > 0 and f"theme={theme}" in picture.evaluate("image => image.currentSrc")
        red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")[:3]
        assert (red + green + blue > 600) is (theme == "light"), path


def test_text_can_be_read_on_its_paper(windows: Windows, ids: dict[str, int]) -> None:
    # Web Content Accessibility Guidelines 2.1, success criterion 1.4.3: at least 4.5 to 1.
    contrast = """elements => {
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
    for theme in ("light", "dark"):
        page = windows.open(theme=theme)
        for path in ("/", "/leaderboard", "/evaluations", "/failures", "/search?q=wrong", "/run/1", f"/evaluation/{ids['failed']}"):
            page.goto(path)
            page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            found = page.locator("a, p, td, th, dt, dd, h1, h2, label, summary, small, .verdict, .folder, .dim, button, .remark")
            assert found.evaluate_all(contrast) == [], (theme, path)


def test_a_click_sorts_and_another_turns_it_around(windows: Windows, ids: dict[str, int]) -> None:
    page = windows.open()
    page.goto("/leaderboard")
    follow(page.get_by_role("link", name="speedup", exact=True))
    column = page.locator("tbody td.k-speedup b")
    falling = [float(text) for text in column.all_inner_texts()]
    assert falling == sorted(falling, reverse=True) and len(falling) == 7
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("speedup")
    follow(page.locator("th[aria-sort=descending] a.sort"))
    assert [float(text) for text in column.all_inner_texts()] == falling[::-1]


def test_a_filter_is_chosen_and_stays_in_the_address(windows: Windows, ids: dict[str, int]) -> None:
    page = windows.open(WIDTHS[1])
    page.goto("/leaderboard")
    page.get_by_text("Filters").click()
    page.locator("select[name=problem]").select_option("gelu")
    follow(page.get_by_role("button", name="Show"))
    expect(page.locator("tbody tr")).to_have_count(2)
    assert set(page.locator("tbody td.k-problem").all_inner_texts()) == {"gelu"} and "problem=gelu" in page.url
    page.reload()
    expect(page.locator("select[name=problem]")).to_have_value("gelu")
    follow(page.get_by_role("link", name="rank", exact=True))
    assert "problem=gelu" in page.url
    expect(page.locator("tbody tr")).to_have_count(2)


def test_what_a_row_is_of_stays_in_sight_in_a_table_that_is_moved_aside(windows: Windows, ids: dict[str, int]) -> None:
    page = windows.open(WIDTHS[1])
    page.goto(f"/evaluation/{ids['failed']}")
    frame = page.get_by_role("region", name="Correctness rounds")
    assert frame.evaluate("frame => { frame.scrollLeft = 10000; return frame.scrollLeft; }") > 100
    first = frame.locator("tbody td").first.bounding_box()
    place = frame.bounding_box()
    assert first is not None and place is not None and first["x"] >= place["x"] - 1


def test_a_hostile_name_is_a_name(windows: Windows, store: Store, url: str) -> None:
    names: dict[str, Any] = dict.fromkeys(("submission", "author", "problem", "case", "message"), HOSTILE)
    number = put(store, result(**names, environment=environment(HOSTILE), evidence=full_evidence(HOSTILE)), HOSTILE)
    shown = HOSTILE.replace("\u202e", "\\u202e")
    page = windows.open()
    for path in ("/", "/leaderboard", "/problems", "/failures", "/evaluations", f"/evaluation/{number}"):
        page.goto(path)
        expect(page.get_by_text(shown).first).to_be_attached()
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[0], path
    for path in ("/problem", "/author", "/submission"):
        page.goto("/leaderboard")
        page.locator(f'tbody a[href^="{path}"]').first.click()
        expect(page.locator("h1")).to_have_text(shown)
        assert page.url.partition("?")[2] == urlencode({"name": HOSTILE})
    page.goto("/live")
    expect(page.locator("#state")).to_contain_text("Live")
    with Store.open(url) as working:
        working.start_run(["pipeline.py", HOSTILE])
        late = working.save(result(Category.TIMEOUT, **names | {"submission": "late " + HOSTILE}), HOSTILE)
    row = page.locator("#arrivals tbody tr").first
    expect(row).to_contain_text("late " + shown)
    expect(page.locator("#runs tbody tr").first).to_contain_text(shown)
    row.get_by_role("link", name="late").click()
    expect(page.locator("h1")).to_have_text("late " + shown)
    assert late > number


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


def test_all_but_what_is_live_works_without_scripts(windows: Windows, ids: dict[str, int]) -> None:
    page = windows.open(scripts=False)
    page.goto("/leaderboard")
    follow(page.get_by_role("link", name="speedup", exact=True))
    expect(page.locator("tbody td.k-speedup").first).to_contain_text("3.250")
    page.goto(f"/evaluation/{ids['failed']}")
    page.get_by_text("Compiler output").click()
    expect(page.get_by_text("more of it")).to_be_visible()
    page.goto("/live")
    expect(page.locator("#arrivals")).to_contain_text("wrong.py")


def test_a_pipeline_is_seen_at_work(browser: Browser, tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for name in ("right", "wrong"):
        bench.write(f"double/{name}.py", submission("x + x" if name == "right" else "x + 1"))
    Store.open(f"sqlite:///{bench.database}").close()
    with Store.open(f"sqlite:///{bench.database}", read_only=True) as store, served(store) as address:
        page = browser.new_page(base_url=address)
        page.goto("/live")
        expect(page.locator("#state")).to_contain_text("Live: nothing new yet.", timeout=60_000)
        page.evaluate("window.same = true")
        with bench.start(bench.root / "double", "--jobs", "1") as pipeline:
            try:
                expect(page.locator("#runs tbody tr")).to_contain_text("pipeline.py", timeout=1e3 * RUN_S)
                assert page.locator("#runs tbody td").nth(4).inner_text() == "", "it is under way"
                expect(page.locator("#runs progress")).to_have_attribute("max", "2")
                expect(page.locator("#arrivals tbody tr")).to_have_count(2, timeout=1e3 * RUN_S)
                pipeline.communicate(timeout=RUN_S)
            finally:
                pipeline.kill()
        expect(page.locator("#arrivals")).to_contain_text("right.py")
        expect(page.locator("#arrivals")).to_contain_text("incorrect/wrong_values")
        expect(page.locator("#runs tbody td").nth(4)).not_to_be_empty(timeout=60_000)
        expect(page.locator("#runs tbody td").nth(1)).to_have_text("2 of 2")
        assert page.evaluate("window.same") is True, "the page was not loaded again"
        page.close()
