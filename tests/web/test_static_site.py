"""The pages as files, as `assay export --site` writes them."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page

from assay.__main__ import main
from db.error import StoreError
from db.storage.origin import Origin
from db.store import Entry, Store
from evaluator.results.category import Category
from evaluator.results.result import now
from tests.command_line import PROJECT
from tests.db.samples import result
from tests.web.conftest import PROBLEM_SOURCE, put
from tests.web.seen import Seen
from tests.web.test_browser import PICTURES
from tests.web.test_hostile import HOSTILE, hostile  # noqa: F401 - a fixture
from tests.web.windows import WIDTHS, Windows, follow
from web.pages import failures
from web.static_site import LIST, write

pytestmark = pytest.mark.slow(60)

LEFT_OUT = re.compile(r"^/(search|live|compare|authors/compare|runs/compare)\b|\.(json|csv)\b")
NAMES = (
    "../../x",
    "..",
    ".",
    "/etc/passwd",
    "Ada",
    "ada",
    "ADA",
    "a b",
    "a-b",
    "a/b",
    "a?b#c%2e",
    "日本",
    "中国",
    "x" * 3000,
    "x" * 2999 + "y",
)
SORTED = {"leaderboard.html": "/leaderboard", "evaluations.html": "/evaluations", "problems.html": "/problems", "index.html": "/"}
WITHOUT_EXTRA = """\
import sys
sys.modules["httpx"] = None
from assay.__main__ import main
sys.exit(main(["export", "--db", sys.argv[1], "--site", sys.argv[2]]))
"""


@pytest.fixture(scope="module")
def site(filled: tuple[Path, dict[str, int]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the filled database."""
    folder = tmp_path_factory.mktemp("exported")
    shutil.copy(filled[0], folder / "assay.db")
    assert main(["export", "--db", str(folder / "assay.db"), "--site", str(folder / "site")]) == 0
    return folder / "site"


def files(folder: Path) -> set[str]:
    """The names of all files, without the list of them."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {LIST}


def assert_linked(folder: Path) -> dict[str, Seen]:
    """Every link leads to a file, every fragment to a part of it, and a link leads to every file. Returns the pages by name."""
    pages = {name: Seen((folder / name).read_text(encoding="utf-8")) for name in files(folder) if name.endswith(".html")}
    reached = {"index.html"}
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            assert not parts.scheme and not parts.netloc and not link.startswith("/"), (name, link)
            target = ((folder / name).parent / unquote(parts.path)).resolve() if parts.path else folder / name
            found = target.relative_to(folder).as_posix()
            assert target.is_file(), (name, link)
            # The samples' evidence names lines that their short sources don't have.
            if parts.fragment and not re.fullmatch(r"L\d+", parts.fragment):
                assert f'id="{parts.fragment}"' in target.read_text(encoding="utf-8"), (name, link)
            reached.add(found)
    assert files(folder) == reached == set((folder / LIST).read_text(encoding="utf-8").splitlines())
    return pages


def test_every_link_leads_to_a_file(site: Path, ids: dict[str, int]) -> None:
    pages = assert_linked(site)
    assert {"index.html", "leaderboard.html", "problem/softmax.html", "author/ada.html", "run/1.html", "glossary.html"} <= set(pages)
    assert {f"evaluation/{number}.html" for number in ids.values()} <= set(pages)
    assert "evaluations/author-bob-category-syntax_error.html" in pages
    shown = pages["evaluations/author-bob-category-syntax_error.html"]
    assert "broken.py" in shown.text and "wrong.py" not in shown.text and "syntax_error" in shown.text, "the choice is named"
    assert len([name for name in files(site) if name.endswith(".svg")]) > 10


def test_a_file_shows_what_the_server_shows_but_for_what_needs_one(site: Path, client: TestClient, ids: dict[str, int]) -> None:
    for name, page in assert_linked(site).items():
        assert not {"form", "input", "button", "select"} & page.tags, name
        assert not any(LEFT_OUT.search(link) for link in page.links), name
        assert "Written 20" in page.text and "JSON" not in page.text, name
    ungrouped = {"/leaderboard": "?sort=problem"}
    for name, path in SORTED.items():
        served = Seen(client.get(path + ungrouped.get(path, "")).text)
        assert Seen((site / name).read_text(encoding="utf-8")).rows == served.rows, name
    assert LEFT_OUT.search("/search?q=x") and any(map(LEFT_OUT.search, served.links))


def test_steps_and_tags_are_shown_without_pages_of_their_own(store: Store, tmp_path: Path) -> None:
    asked = Origin(12, "p7", {"run": "first"})
    store.save_all([Entry(result(), "x", PROBLEM_SOURCE, origins=(asked,))])
    write(store, tmp_path / "site")
    pages = assert_linked(tmp_path / "site")
    assert ["12", "p7", "run=first"] in [[cell.strip() for cell in row] for row in pages["evaluation/1.html"].rows]
    assert not [name for name in pages if "step" in name or "tag" in name]


def test_a_table_has_all_its_rows(store: Store, tmp_path: Path) -> None:
    made = [result(Category.WRONG_VALUES, submission="s.py", source=str(number)) for number in range(500)]
    store.save_all([Entry(each, str(number), PROBLEM_SOURCE) for number, each in enumerate(made)])
    write(store, tmp_path / "site")
    pages = assert_linked(tmp_path / "site")
    assert len(pages["evaluations.html"].rows) == 1 + len(made) == len(pages["submission/s.py.html"].rows)
    assert {f"evaluation/{number}.html" for number in range(1, 1 + len(made))} <= set(pages)


def test_names_of_strangers_make_safe_names_of_files(store: Store, tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        put(store, result(Category.WRONG_VALUES, submission=name, author=name, problem=name, source=str(number)), str(number))
    folder = tmp_path / "deep" / "site"
    write(store, folder)
    pages = assert_linked(folder)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["site"]
    for name in files(folder):
        assert re.fullmatch(r"[A-Za-z0-9._/-]+", name) and not re.search(r"(^|/)\.", name), name
        assert all(len(part) < 200 for part in name.split("/")), name
    assert len({name.lower() for name in files(folder)}) == len(files(folder)), "also where upper and lower case are one"
    authors = [page.text.partition("·")[0].strip() for name, page in pages.items() if name.startswith("author/")]
    assert sorted(authors) == sorted(NAMES)


def test_text_of_strangers_is_text_in_a_file(store: Store, hostile: dict[str, int], tmp_path: Path) -> None:  # noqa: F811
    write(store, tmp_path / "site")
    for name, page in assert_linked(tmp_path / "site").items():
        text = (tmp_path / "site" / name).read_text(encoding="utf-8")
        assert text.count("<script") == 1 and re.search(r'<script src="[./]*static/sort\.js" defer="">', text), name
        assert text.index("Content-Security-Policy") < text.index("<script") and "default-src 'none'" in text, name
        assert not any(attribute.startswith("on") for attribute in page.attributes), name
        assert not re.search("[\x00\x1b\u202e\u2066]", text), name
    assert "<script>alert(1)</script>" in Seen((tmp_path / "site/leaderboard.html").read_text(encoding="utf-8")).text
    assert "<script>alert(1)" in HOSTILE


def test_only_an_earlier_export_is_replaced(store: Store, tmp_path: Path) -> None:
    put(store, result(submission="first.py"))
    folder = tmp_path / "site"
    folder.mkdir()
    write(store, folder)
    assert "submission/first.py.html" in files(folder)
    (folder / "submission/first.py.html").rename(folder / "submission/mine.html")
    with pytest.raises(StoreError, match=r"has submission/mine\.html, which no export wrote\. Name a new or empty folder"):
        write(store, folder)
    assert (folder / "submission/mine.html").is_file()
    (folder / "submission/mine.html").unlink()
    put(store, result(submission="second.py", source="2"), "2")
    write(store, folder)
    assert "submission/second.py.html" in assert_linked(folder)
    (folder / LIST).unlink()
    with pytest.raises(StoreError, match="which no export wrote"):
        write(store, folder)
    for taken in (folder / "index.html", folder / "index.html" / "below"):
        with pytest.raises(StoreError, match="can't be the site's folder"):
            write(store, taken)


def test_a_fault_leaves_the_earlier_export(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, result())
    folder = tmp_path / "site"
    write(store, folder)
    before = {name: (folder / name).read_bytes() for name in files(folder)}

    def broken(*_given: object) -> None:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(failures, "failures", broken)
    with pytest.raises(StoreError, match="the disk is gone"):
        write(store, folder)
    assert {name: (folder / name).read_bytes() for name in files(folder)} == before
    assert not [path for path in folder.iterdir() if path.name.startswith(".unfinished")]


@pytest.mark.parametrize("moved", [0, 3, 12])
def test_files_that_can_not_be_moved_leave_the_earlier_export(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    put(store, result())
    folder, rename, left = tmp_path / "site", Path.rename, [moved]
    write(store, folder)
    before = {name: (folder / name).read_bytes() for name in files(folder)}

    def failing(path: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] == -1:
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(StoreError, match="No space left"):
        write(store, folder)
    assert {name: (folder / name).read_bytes() for name in files(folder)} == before


def test_a_file_that_is_added_meanwhile_stays(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, result())
    folder, notes = tmp_path / "site", tmp_path / "site/notes.txt"
    monkeypatch.setattr("web.static_site.now", lambda: (notes.write_text("mine"), now())[1])
    with pytest.raises(StoreError, match=r"has notes\.txt, which no export wrote"):
        write(store, folder)
    assert notes.read_text() == "mine"


def test_what_an_export_left_that_was_killed_is_removed(store: Store, tmp_path: Path) -> None:
    put(store, result())
    left = tmp_path / "site/.unfinished-1/new"
    left.mkdir(parents=True)
    (left / "index.html").write_text("half")
    write(store, tmp_path / "site")
    assert not left.parent.exists() and (tmp_path / "site/index.html").is_file()


def test_the_command_names_the_first_page(store: Store, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(store, result())
    words = ["export", "--db", url, "--site", str(tmp_path / "site")]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert told == f"{len(files(tmp_path / 'site'))} files written; open {tmp_path / 'site/index.html'}\n"
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"start": str(tmp_path / "site/index.html"), "files": len(files(tmp_path / "site"))}
    for more in (["--author", "ada"], ["--output", "x"], ["--level", "1"]):
        assert main([*words, *more]) == 2
        assert "--site writes all pages" in capsys.readouterr().err
    assert main(["export", "--db", url]) == 2
    assert "give --format FORMAT, or --site DIR." in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--format", "csv"])
    assert "not allowed with argument" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(store: Store, url: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", WITHOUT_EXTRA, url, str(tmp_path / "site")]
    refused = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True)
    assert (refused.returncode, refused.stderr) == (2, "The pages need httpx: pip install -c constraints.txt -e '.[web]'.\n")
    assert not (tmp_path / "site").exists()


@pytest.fixture
def windows(site: Path, browser: Browser) -> Iterator[Windows]:  # in this order: Playwright's loop lets no other run
    opened = Windows(browser, f"{site.as_uri()}/")
    yield opened
    opened.close()


def first_words(page: Page) -> list[list[str]]:
    """The rows of all tables that can be sorted, as texts of cells."""
    rows = page.locator("table:has(a.sort) tbody tr")
    texts: list[list[str]] = rows.evaluate_all("rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")
    return texts


def test_tables_sort_as_on_the_server_without_one(windows: Windows, client: TestClient, ids: dict[str, int]) -> None:
    page = windows.open()
    for name, path in SORTED.items():
        page.goto(name)
        sorts = page.locator("table:has(a.sort)").first.locator("a.sort")
        keys = sorts.evaluate_all("all => all.map((link) => new URLSearchParams(link.search).get('sort'))")
        assert len(keys) > 5, name
        for key in keys:
            for order in ("asc", "desc"):
                page.goto(f"{name}?sort={key}&order={order}")
                served = Seen(client.get(f"{path}?sort={key}&order={order}").text).rows
                texts = first_words(page)
                assert [row for row in served if row in texts] == texts, (name, key, order)


def test_a_browser_shows_it_from_a_folder(windows: Windows) -> None:
    for width in WIDTHS:
        page = windows.open(width)
        page.goto("index.html")
        follow(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Leaderboard"))
        if width == WIDTHS[0]:
            for first, order in (("3.250", "descending"), ("0.500", "ascending")):
                follow(page.locator("thead .k-speedup a.sort"))
                assert page.locator("tbody .k-speedup b").first.text_content() == first
                assert page.locator("thead .k-speedup").get_attribute("aria-sort") == order
        follow(page.locator("tbody a[href^='evaluation/']").first)
        assert page.url.startswith("file://") and "Evaluation " in page.locator("h1").inner_text()
        follow(page.locator(".cells a[href*='problem/']"))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.evaluate(PICTURES)
        assert sizes and all(size > 0 for size, _ in sizes)
        assert page.evaluate("getComputedStyle(document.querySelector('thead .n')).textAlign") == "right", "the style sheet works"
