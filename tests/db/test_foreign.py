"""Verdicts of other harnesses in the history."""

import hashlib
import json
from pathlib import Path

import pytest

from db.__main__ import main
from db.error import StoreError
from db.foreign import foreign_history, import_kernelbench
from db.output.report import dump
from db.store import Store
from tests.db.samples import result
from tests.db.test_kernelbench_results import SAID

KERNEL = "level_1_problem_23_sample_0_kernel.py"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs" / "a_model"
    folder.mkdir(parents=True)
    (folder / KERNEL).write_text("class ModelNew: ...\n")
    (folder / "eval_results.json").write_text(json.dumps(SAID))
    monkeypatch.chdir(tmp_path)
    return folder


def test_verdicts_are_kept_once_under_the_names_that_submissions_have(store: Store, run: Path) -> None:
    assert import_kernelbench(store, run / "eval_results.json") == (3, 3)
    assert import_kernelbench(store, run / "eval_results.json") == (3, 0)
    (row,) = foreign_history(store, f"runs/a_model/{KERNEL}")
    assert (row.harness, row.author, row.level, row.problem_number, row.sample_id) == ("kernelbench", "a_model", 1, 23, 0)
    assert (row.compiled, row.correct, row.runtime_ms, row.details["metadata"]) == (True, True, 1.5, {"hardware": "H100"})
    assert row.source_sha256 == hashlib.sha256(b"class ModelNew: ...\n").hexdigest()
    (other,) = foreign_history(store, "runs/a_model/level_1_problem_7_sample_0_kernel.py")
    assert (other.compiled, other.runtime_ms, other.source_sha256) == (False, None, None)
    assert store.count() == 0  # no evaluation of ours


def test_what_changed_is_kept_beside_what_was(store: Store, run: Path) -> None:
    import_kernelbench(store, run / "eval_results.json")
    (run / KERNEL).write_text("another\n")
    assert import_kernelbench(store, run / "eval_results.json", author="me") == (3, 3)
    assert [row.author for row in foreign_history(store, f"runs/a_model/{KERNEL}")] == ["a_model", "me"]


def test_numbers_that_no_json_has_are_kept_as_text(store: Store, run: Path) -> None:
    file = run / "eval_results.json"
    file.write_text(
        '{"23": {"sample_id": 0, "compiled": true, "correctness": true, "runtime": NaN,'
        ' "metadata": {"error": -Infinity, "x": 1e999}, "runtime_stats": {"std": NaN, "mean": 0.5}}}'
    )
    import_kernelbench(store, file)
    (row,) = foreign_history(store, f"runs/a_model/{KERNEL}")
    assert (row.correct, row.runtime_ms) == (True, None)
    assert row.details == {"metadata": {"error": "-Infinity", "x": "1e999"}, "runtime_stats": {"std": "NaN", "mean": 0.5}}
    assert '"-Infinity"' in dump(row)


def test_the_level_has_to_be_known(store: Store, run: Path) -> None:
    (run / "level_2_problem_23_sample_0_kernel.py").write_text("")
    with pytest.raises(StoreError, match=r"of levels 1, 2; give .* --level"):
        import_kernelbench(store, run / "eval_results.json")
    assert import_kernelbench(store, run / "eval_results.json", level=2) == (3, 3)
    for path in run.glob("*.py"):
        path.unlink()
    with pytest.raises(StoreError, match="are missing"):
        import_kernelbench(store, run / "eval_results.json")
    with pytest.raises(StoreError, match="can't be read"):
        import_kernelbench(store, run / "none.json", level=1)


def test_history_has_them_with_and_without_evaluations(
    sqlite_store: Store, sqlite_url: str, run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    name = f"runs/a_model/{KERNEL}"
    assert main(["--db", sqlite_url, "import", "--kernelbench", str(run / "eval_results.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["added"] == 3
    assert main(["--db", sqlite_url, "history", name]) == 0
    assert "kernelbench" in capsys.readouterr().out
    sqlite_store.save(result(submission=name), "class ModelNew: ...\n")
    assert main(["--db", sqlite_url, "history", name, "--json"]) == 0
    ours, theirs = json.loads(capsys.readouterr().out)
    assert ours["status"] == "correct" and (theirs["harness"], theirs["runtime_ms"]) == ("kernelbench", 1.5)
    assert main(["--db", sqlite_url, "history", "nobody.py"]) == 2
