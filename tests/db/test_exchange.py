"""Out of a database and into another, without loss."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from db.exchange import COLUMNS, export_csv, export_json, export_parquet, import_lines
from db.store import Entry, Store, StoreError
from db.upkeep import check
from evaluator.results.category import CATEGORIES
from tests.db.samples import PROBLEM_SOURCE, environment, full_evidence, result

HOSTILE = "[b]\x1b[2J\0\u202e\ufdd0\ufdd1\udcff=1+1"


def fill(store: Store) -> None:
    """Every category, history, replaced rows, shared and odd texts, and two runs."""
    store.start_run(["pipeline.py", "submissions", "--db", "postgresql+psycopg://me:secret@host/name"])
    store.expect(77)
    each = [result(category, submission=f"s{number}", sample_id=number, block=1 + number % 3) for number, category in enumerate(CATEGORIES)]
    store.save_all([Entry(saved, "class ModelNew: ...\n", PROBLEM_SOURCE) for saved in each])
    store.save(result(submission="s0", block=1, speedup=3.0, evidence=full_evidence(HOSTILE)), HOSTILE)
    store.save(result(submission=HOSTILE, author=HOSTILE, environment=environment(HOSTILE), message=HOSTILE), HOSTILE, HOSTILE)
    store.save(result(submission="=cmd()", author=None, precision=None), "x" * (2 << 20))


def exported(store: Store, path: Path) -> list[str]:
    with path.open("wb") as file:
        count = export_json(store, file)
    lines = path.read_text().splitlines()
    assert len(lines) == count == store.count()
    return lines


def test_json_round_trips(store: Store, tmp_path: Path) -> None:
    fill(store)
    lines = exported(store, tmp_path / "first.jsonl")
    with Store.open(f"sqlite:///{tmp_path}/other.db") as other:
        assert import_lines(other, tmp_path / "first.jsonl") == (len(lines), len(lines))
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


def test_importing_twice_adds_nothing(store: Store, tmp_path: Path) -> None:
    fill(store)
    lines = exported(store, tmp_path / "all.jsonl")
    assert import_lines(store, tmp_path / "all.jsonl") == (len(lines), 0)
    assert check(store) == []


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
        ("[" * 100_000, "no exported evaluation"),
        (json.dumps(json.loads(Entry(result(), "x").to_line()) | {"category": "timeout"}), "belongs to status"),
    ],
)
def test_a_file_with_a_bad_line_is_refused_whole(sqlite_store: Store, tmp_path: Path, line: str, cause: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(Entry(result(), "x").to_line() + "\n" + line + "\n")
    with pytest.raises(StoreError, match=cause):
        import_lines(sqlite_store, path)
    assert sqlite_store.count() == 0


def test_a_missing_file_is_told(sqlite_store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        import_lines(sqlite_store, tmp_path / "none.jsonl")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match="not UTF-8"):
        import_lines(sqlite_store, tmp_path / "bytes")


def test_csv_has_a_row_for_each_evaluation_and_no_formula(sqlite_store: Store) -> None:
    fill(sqlite_store)
    file = io.BytesIO()
    assert export_csv(sqlite_store, file) == sqlite_store.count()
    header, *rows = csv.reader(io.StringIO(file.getvalue().decode()))
    assert header == list(COLUMNS) and len(rows) == sqlite_store.count()
    by_id = {int(row[0]): dict(zip(header, row, strict=True)) for row in rows}
    for stored in sqlite_store.each():
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
