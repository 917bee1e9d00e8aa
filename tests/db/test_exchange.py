"""Out of a database and into another, without loss; verdicts of other harnesses in the history."""

import csv
import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from db.exchange import COLUMNS, export_csv, export_json, export_parquet, import_lines
from db.foreign import foreign_history, import_kernelbench
from db.kernelbench_results import ForeignVerdict, verdicts
from db.output.report import dump
from db.storage.origin import Origin
from db.store import Entry, Store, StoreError
from db.upkeep import check
from evaluator.results.category import CATEGORIES
from tests.db.conftest import BOTH
from tests.db.samples import PROBLEM_SOURCE, environment, full_evidence, result

pytestmark = pytest.mark.slow(15)

HOSTILE = "[b]\x1b[2J\0\u202e\ufdd0\ufdd1\udcff=1+1"


def fill(store: Store) -> None:
    """Every category, history, replaced rows, shared and odd texts, and two runs."""
    store.start_run(["pipeline.py", "submissions", "--db", "postgresql+psycopg://me:secret@host/name"])
    store.expect(77)
    each = [result(category, submission=f"s{number}", sample_id=number, block=1 + number % 3) for number, category in enumerate(CATEGORIES)]
    store.save_all([Entry(saved, "class ModelNew: ...\n", PROBLEM_SOURCE) for saved in each])
    store.save(result(submission="s0", block=1, speedup=3.0, evidence=full_evidence(HOSTILE)), HOSTILE)
    store.save(result(submission=HOSTILE, author=HOSTILE, environment=environment(HOSTILE), message=HOSTILE), HOSTILE, HOSTILE)
    asked = (Origin(12, 'é\n<b>\\ "\ufdd1', {"run": "first"}), Origin(0))
    store.save_all([Entry(result(submission="asked"), "asked", origins=asked)])
    store.save(result(submission="=cmd()", author=None, precision=None), "x" * (2 << 20))


def exported(store: Store, path: Path) -> list[str]:
    with path.open("wb") as file:
        count = export_json(store, file)
    lines = path.read_text().splitlines()
    assert len(lines) == count == store.count()
    return lines


@BOTH
def test_json_round_trips(store: Store, tmp_path: Path) -> None:
    fill(store)
    lines = exported(store, tmp_path / "first.jsonl")
    with Store.open(f"sqlite:///{tmp_path}/other.db") as other:
        assert import_lines(other, tmp_path / "first.jsonl") == (len(lines), len(lines))
        assert import_lines(other, tmp_path / "first.jsonl") == (len(lines), 0), "importing twice adds nothing"
        again = exported(other, tmp_path / "second.jsonl")
        assert check(other, deep=True) == []
        before, after = list(store.each()), list(other.each())

    def without_id(line: str) -> dict[str, object]:
        record: dict[str, object] = json.loads(line)
        assert record.pop("id")
        return record

    assert [without_id(line) for line in again] == [without_id(line) for line in lines]
    for old, new in zip(before, after, strict=True):
        assert replace(new, id=old.id) == old
    assert "secret" not in "".join(lines)


@BOTH
def test_importing_again_adds_new_origins(store: Store, tmp_path: Path) -> None:
    saved, path = result(), tmp_path / "one.jsonl"
    for origins in ((Origin(1),), (Origin(1), Origin(2, "p"))):
        path.write_text(Entry(saved, "x", origins=origins).to_line())
        import_lines(store, path)
    assert [each.origins for each in store.each()] == [(Origin(1), Origin(2, "p"))]
    path.write_text(json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != "origins"}))
    assert import_lines(store, path) == (1, 0), "a file of an older version has none"
    other = result(submission="twice")
    path.write_text("\n".join(Entry(other, "x", origins=(Origin(step),)).to_line() for step in (3, 4, 3)))
    import_lines(store, path)
    assert [each.origins for each in store.each()][1] == (Origin(3), Origin(4))


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("not json", r"bad\.jsonl:2 is no exported evaluation: "),
        ("[1]", "not a JSON object"),
        ("{}", "'source' is missing"),
        ('{"source": 5}', "texts"),
        ('{"source": "", "surprise": 1}', "no evaluation that this version can read"),
        ('{"source": "", "run": {}}', "finished_at"),
        ('{"source": "", "run": {"finished_at": null, "expected": -1}}', "a count"),
        ('{"source": "", "origins": [{"step": -1}]}', "0.step: Input should be greater"),
        ('{"source": "", "origins": [{"tags": {"a b": "c"}}]}', "0.tags"),
        ("[" * 100_000, "no exported evaluation"),
        (json.dumps(json.loads(Entry(result(), "x").to_line()) | {"category": "timeout"}), "belongs to status"),
    ],
)
def test_a_file_with_a_bad_line_is_refused_whole(store: Store, tmp_path: Path, line: str, cause: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(Entry(result(), "x").to_line() + "\n" + line + "\n")
    with pytest.raises(StoreError, match=cause):
        import_lines(store, path)
    assert store.count() == 0


def test_a_missing_file_is_told(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        import_lines(store, tmp_path / "none.jsonl")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match="not UTF-8"):
        import_lines(store, tmp_path / "bytes")


def test_csv_has_a_row_for_each_evaluation_and_no_formula(store: Store) -> None:
    fill(store)
    file = io.BytesIO()
    assert export_csv(store, file) == store.count()
    header, *rows = csv.reader(io.StringIO(file.getvalue().decode()))
    assert header == list(COLUMNS) and len(rows) == store.count()
    by_id = {int(row[0]): dict(zip(header, row, strict=True)) for row in rows}
    for stored in store.each():
        row = by_id[stored.id]
        assert row["category"] == stored.result.category.value
        assert row["speedup"] == ("" if stored.result.speedup is None else str(stored.result.speedup))
        assert (row["generalises"], row["robust"]) == (stored.result.evidence.generalises, stored.result.evidence.robust)
    assert {row["robust"] for row in by_id.values()} == {"no", "untested"}
    assert [row["submission"] for row in by_id.values()][-1] == "'=cmd()"


def test_parquet_has_types(store: Store, tmp_path: Path) -> None:
    fill(store)
    with (tmp_path / "all.parquet").open("wb") as file:
        assert export_parquet(store, file) == store.count()
    table = parquet.read_table(tmp_path / "all.parquet")
    assert dict(zip(table.schema.names, map(str, table.schema.types), strict=True)) == COLUMNS
    for row, stored in zip(table.to_pylist(), store.each(), strict=True):
        assert (row["id"], row["submission"], row["speedup"]) == (stored.id, stored.result.submission, stored.result.speedup)
        assert row["started_at"] == stored.result.started_at


SAID = {
    "23": [
        {
            "sample_id": 0,
            "compiled": True,
            "correctness": True,
            "metadata": {"hardware": "H100"},
            "runtime": 1.5,
            "runtime_stats": {"std": 0.1},
        },
        {"sample_id": 1, "compiled": True, "correctness": False, "metadata": {}, "runtime": -1.0, "runtime_stats": {}},
    ],
    "7": {"sample_id": 0, "compiled": False, "correctness": False, "metadata": {"other_error": "x"}},
}


def test_its_own_results_are_read_in_both_forms(tmp_path: Path) -> None:
    path = tmp_path / "eval_results.json"
    path.write_text(json.dumps(SAID))
    first, second, third = verdicts(path)
    details = {"metadata": {"hardware": "H100"}, "runtime_stats": {"std": 0.1}}
    assert first == ForeignVerdict(23, 0, True, True, 1.5, details)
    assert (second.sample_id, second.correct, second.runtime_ms) == (1, False, None)
    assert (third.problem_id, third.compiled, third.correct) == (7, False, False)


@pytest.mark.parametrize("content", ["", "[]", '{"a": []}', '{"1": [{"sample_id": 0}]}', '{"1": 5}'])
def test_other_files_are_no_results(content: str, tmp_path: Path) -> None:
    path = tmp_path / "eval_results.json"
    path.write_text(content)
    with pytest.raises(StoreError, match=r"eval_results\.json"):
        verdicts(path)


KERNEL = "level_1_problem_23_sample_0_kernel.py"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs" / "a_model"
    folder.mkdir(parents=True)
    (folder / KERNEL).write_text("class ModelNew: ...\n")
    (folder / "eval_results.json").write_text(json.dumps(SAID))
    monkeypatch.chdir(tmp_path)
    return folder


@BOTH
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
    (run / KERNEL).write_text("another\n")
    assert import_kernelbench(store, run / "eval_results.json", author="me") == (3, 3)
    assert [row.author for row in foreign_history(store, f"runs/a_model/{KERNEL}")] == ["a_model", "me"], "beside what was"


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
