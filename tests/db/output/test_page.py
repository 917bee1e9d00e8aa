"""The exported page: it is complete, and nothing in it runs."""

import base64
import hashlib
import re

from db.output.page import page
from db.store import Store
from evaluator.results.category import Category
from tests.db.samples import environment, result
from tests.web.seen import Seen

HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\"' onload='z' &amp; \u202e {{7*7}}"


def test_the_page_has_boards_authors_and_failures(store: Store) -> None:
    store.save(result(submission="quick.py", speedup=3.25), "class ModelNew: ...\n")
    store.save(result(Category.TIMEOUT, submission="late.py", author="bob"), "class ModelNew: ...\n")
    seen = Seen(page(store))
    told = "softmax · full · NVIDIA H200; quick.py; 3.250; ada; bob; timeout; 50.0%; fast_1.5; pass@1; 2 evaluations; timeout 1"
    for text in told.split("; "):
        assert text in seen.text, text


def test_a_shared_rank_is_marked(store: Store) -> None:
    for author in ("ada", "bob"):
        store.save(result(submission=f"{author}.py", source=author, author=author), author)
    rows = [row for row in Seen(page(store)).rows if {"ada", "bob"} & set(row)]
    assert [row[0] for row in rows] == ["1="] * 4


def test_an_empty_database_has_a_page(store: Store) -> None:
    assert "Nothing is ranked yet." in page(store)


def test_names_of_strangers_are_text(store: Store) -> None:
    hostile = result(submission=HOSTILE, author=HOSTILE, problem=HOSTILE, case=HOSTILE, precision=HOSTILE, environment=environment(HOSTILE))
    store.save(hostile, HOSTILE)
    text = page(store)
    seen = Seen(text)
    assert seen.tags <= {
        *("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "nav", "section", "a", "p", "h1", "h2", "div"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert seen.attributes <= {
        *("lang", "charset", "http-equiv", "content", "name", "href", "id", "aria-label", "role", "tabindex", "class", "scope"),
    }
    assert "<script>alert(1)</script>" in seen.text and "\u202e" not in text


def test_the_page_forbids_all_but_its_own_style(store: Store) -> None:
    text = page(store)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'" in text
    assert not re.search(r"https?:|src=|url\(", text)
