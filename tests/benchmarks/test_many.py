"""The benchmark of very many submissions, with few: what it generates is what it says, and what it counts is there."""

import json
from pathlib import Path

import pytest

from benchmarks import many
from evaluator.results.category import Category
from evaluator.submission.discover import find


@pytest.mark.parametrize("form", ["folder", "bundle"])
def test_answers_are_distinct_and_read_as_what_they_are_meant_to_be(tmp_path: Path, form: str) -> None:
    found = list(find([many.generate(tmp_path, 20, form, "mixed")], known=("twice",)))
    assert len(found) == len({submission.source_sha256 for submission in found}) == 20
    assert [submission.rejection is not None for submission in found] == [number % 10 == 9 for number in range(20)]
    assert {submission.problem for submission in found} == {"twice"}


@pytest.mark.parametrize("form", ["folder", "bundle"])
def test_all_that_is_rejected_is_stored_and_then_skipped(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "figures.json"
    assert many.main(["--count", "300", "--form", form, "--what", "rejected", "--again", "--json", str(report)]) == 0
    first, again = json.loads(report.read_text())["runs"]
    assert first["categories"] == {str(Category.MISSING_MODEL_NEW): 300}
    assert (first["results"], first["rows"], first["interrupted"], first["first_result_s"]) == (300, 300, False, None)
    assert (again["results"], again["rows"]) == (0, 300)
    assert 0 < first["parent_peak_bytes"] < many.MEMORY_TARGET_BYTES
    assert "300 submissions" in capsys.readouterr().out


def test_a_run_that_is_interrupted_leaves_a_row_for_each_record(tmp_path: Path) -> None:
    target = many.generate(tmp_path, 2000, "bundle", "mixed")
    figures = many.Figures("test", 2000)
    heard: list[int] = []
    many.measure(tmp_path, target, figures, None, stop_at=12, tell=heard.append)
    assert figures.interrupted
    assert 12 <= figures.results == figures.rows < 2000
    assert heard == list(range(1, figures.results + 1))
    assert figures.first_result_s is not None and 0 < figures.first_result_s <= figures.wall_s
    assert {"no_custom_kernel", "interrupted"} <= set(figures.categories)
