"""The glossary: it has each word that the pages explain, in plain sentences."""

import re

import pytest

from evaluator.results.category import Category, Status
from tests.command_line import PROJECT
from web.glossary import ALIASES, GROUPS, TERMS, anchor, document
from web.pages import boards, problems, runs
from web.site import FOLDER

USED = re.compile(r"\bterm\(\s*[\"'](.+?)[\"']")
"""A word that a template explains."""


def test_every_word_that_a_template_explains_is_in_it() -> None:
    for path in sorted((FOLDER / "templates").glob("*.html")):
        assert set(USED.findall(path.read_text(encoding="utf-8"))) <= set(TERMS), path.name
    assert USED.findall('{{ parts.term("speedup") }}') == ["speedup"]


@pytest.mark.parametrize("columns", [boards.COLUMNS, problems.COLUMNS, runs.COLUMNS])
def test_every_heading_of_a_sorted_table_is_in_it(columns: tuple[object, ...]) -> None:
    titles = {getattr(column, "title", "") for column in columns}
    assert titles <= set(TERMS), titles - set(TERMS)


def test_verdicts_are_in_it() -> None:
    assert {*Status, *Category} <= set(TERMS)


def test_a_term_is_explained_in_one_plain_sentence() -> None:
    own = {term: text for group in GROUPS.values() for term, text in group.items()}
    for word, text in own.items():
        assert text.endswith(".") and text[0].isupper() and ". " not in text, word
        assert all(len(clause.split()) <= 24 for clause in re.split(r"[:;] ", text)), word


def test_the_document_is_generated_from_it() -> None:
    assert (PROJECT / "docs/glossary.md").read_text(encoding="utf-8") == document()


def test_an_anchor_is_one_term_s_own() -> None:
    own = [term for group in GROUPS.values() for term in group] + [category.value for category in Category]
    anchors = [anchor(term) for term in own]
    assert len(set(anchors)) == len(anchors) and all(re.fullmatch("[a-z][a-z0-9_-]*", found) for found in anchors)
    assert anchor("95 % interval") == anchor("interval") and set(ALIASES.values()) <= set(own)
    with pytest.raises(KeyError, match="'nothing' is not in the glossary"):
        anchor("nothing")
