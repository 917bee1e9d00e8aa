"""Two submissions and two runs are chosen and compared in a real browser: by keyboard, without scripts, at both widths."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from db.store import Store
from tests.db.queries.test_run_comparison import failed, solved, stored_run
from tests.db.samples import sha256
from tests.web.conftest import PROBLEM_SOURCE
from tests.web.serving import served
from tests.web.windows import WIDTHS, Windows

pytestmark = pytest.mark.slow(20)

COMMON = "".join(f"line_{number} = {number}\n" for number in range(30))


@pytest.fixture
def windows(browser: Browser, store: Store) -> Iterator[Windows]:
    with served(store) as address:
        opened = Windows(browser, address)
        yield opened
        opened.close()


@pytest.fixture
def numbers(store: Store) -> list[int]:
    """Three ranked submissions of one problem; their sources differ in a line."""
    found = []
    for author, speedup in (("ada", 3.0), ("bob", 2.0), ("cyd", 1.0)):
        source = f"{COMMON}author = '{author}'\n{COMMON}"
        made = solved(f"{author}.py", speedup, author=author).model_copy(update={"source_sha256": sha256(source)})
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
    for width in WIDTHS:
        page = windows.open(width)
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
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_changed_lines_can_be_read_on_their_paper(windows: Windows, numbers: list[int]) -> None:
    for theme in ("light", "dark"):
        page = windows.open(theme="light" if theme == "light" else "dark")
        page.goto(f"/compare?left={numbers[0]}&right={numbers[1]}")
        papers = page.locator(".diff .changed > div").evaluate_all("all => all.map((each) => getComputedStyle(each).backgroundColor)")
        assert len(set(papers)) == 2, "the sides can be told apart"
        signs = page.locator(".diff .changed .number").evaluate_all("all => all.map((each) => getComputedStyle(each, '::after').content)")
        assert signs == ['" −"', '" +"'], "and not by colour alone"


def test_two_runs_are_chosen_and_the_broken_come_first(windows: Windows, store: Store, url: str) -> None:
    stored_run(url, solved("a.py", 2.0), solved("b.py", 2.0), solved("c.py", 2.0))
    stored_run(url, failed("b.py"), solved("c.py", 3.0), solved("a.py", 2.0))
    for width in WIDTHS:
        page = windows.open(width, scripts=False)
        page.goto("/runs")
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("h1")).to_have_text("Runs 1 and 2")
        expect(page.locator("tbody .change")).to_have_text(["broke", "faster"])
        page.get_by_role("link", name="1 unchanged").click()
        expect(page.locator("tbody .change")).to_have_text(["unchanged"])
        page.get_by_role("link", name="side by side").click()
        expect(page.get_by_text("Both sources are the same.")).to_be_visible()
