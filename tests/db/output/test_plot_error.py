"""The picture of an error."""

from pathlib import Path

import pytest

from db.output.plot_error import LEVELS, levels, plot_error
from db.store import Store, StoreError
from evaluator.results.category import Category
from evaluator.results.evidence import ErrorMap, Evidence
from tests.db.samples import full_evidence, result
from tests.db.test_main import output, run

SOURCE = "class ModelNew: ...\n"


def test_levels_of_a_picture() -> None:
    assert levels(ErrorMap(rows=(".1", "9#"), rows_per_cell=1, columns_per_cell=1)) == [[0, 1], [9, LEVELS]]


def test_show_draws_what_was_stored(sqlite_store: Store, sqlite_url: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    evidence = full_evidence()
    wrong = evidence.rounds[0].model_copy(update={"passed": False, "category": Category.WRONG_VALUES})
    failed = result(Category.WRONG_VALUES, evidence=evidence.model_copy(update={"rounds": (wrong,)}))
    number = sqlite_store.save(failed, SOURCE)
    picture = tmp_path / "error.png"
    told = output("--db", sqlite_url, "show", str(number), "--plot-error", str(picture))
    assert str(picture) in told
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and picture.stat().st_size > 5000
    refused = run("--db", sqlite_url, "show", str(number), "--plot-error", str(tmp_path / "no" / "error.png"))
    assert refused.returncode == 2 and "can't be written" in refused.stderr


def test_there_is_nothing_to_draw_of_a_right_answer(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no wrong values to plot"):
        plot_error(result(evidence=Evidence()), tmp_path / "error.png")
    assert not (tmp_path / "error.png").exists()


def test_show_tells_where_and_what_it_is_like(sqlite_store: Store, sqlite_url: str) -> None:
    number = sqlite_store.save(result(Category.WRONG_VALUES, evidence=full_evidence()), SOURCE)
    text = output("--db", sqlite_url, "show", str(number))
    for words in ("a tail of 3", "all of them are 0", "[1, 2]: inf instead of 0.3", "    ..1#", "identifier undefined"):
        assert words in text
