"""The explanation of a category."""

import re
import subprocess
import sys

import pytest

from evaluator.diagnosis.diagnose import RULES
from evaluator.diagnosis.explanation import STATUS_MEANINGS, UnknownCategoryError, document, explain
from evaluator.results.category import CATEGORIES, Status
from tests.command_line import PROJECT

pytestmark = pytest.mark.slow(2)


def ask(name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROJECT / "pipeline.py"), "--explain", name]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_document_is_what_the_table_says() -> None:
    assert (PROJECT / "docs/verdicts.md").read_text(encoding="utf-8") == document()


def test_every_category_is_explained_with_all_that_the_table_has() -> None:
    whole = document()
    for category, info in CATEGORIES.items():
        text = explain(category.value)
        assert all(part in text for part in (info.meaning, info.evidence, info.hint, info.status.value)), category
        assert info.meaning in whole and info.hint in whole, category


def test_what_gives_a_category_is_told_in_order() -> None:
    rules = re.findall(r"rule \d+ of \d+, (\w+) in (\w+)\.py", explain("out_of_memory"))
    assert rules == [("starved_judge", "ending_rules"), ("ended_process", "ending_rules"), ("raised_exception", "exception_rules")]
    assert "no rule: before anything runs" in explain("syntax_error")
    rows = re.findall(r"^\| \d+ \| `(\w+)`", document(), re.MULTILINE)
    assert rows == [rule.name for rule in RULES]


def test_every_status_is_explained() -> None:
    assert set(STATUS_MEANINGS) == set(Status)
    assert all(meaning in document() for meaning in STATUS_MEANINGS.values())


def test_the_command_line_explains_without_a_path_and_names_the_neighbours_of_a_mistyped_category() -> None:
    done = ask("oversized_block")
    assert (done.returncode, done.stdout) == (0, explain("oversized_block")) and "1024 threads" in done.stdout
    done = ask("oversize_block")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pipeline.py: no category 'oversize_block'; nearest: oversized_block\n"
    with pytest.raises(UnknownCategoryError, match="known: "):
        explain("%%")
