"""The shipped schema: it is generated from the types, and real records match it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from assay.__main__ import main
from db.exchange import export_json
from db.output.record_schema import FILE, generated
from db.store import Store
from evaluator.diagnosis.feedback import feedback, record
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result
from tests.command_line import Bench, submission
from tests.db.samples import SOURCE, full_evidence, result

pytestmark = pytest.mark.slow(25)

WHOLE = json.loads(FILE.read_text(encoding="utf-8"))
JUDGED, EXPORTED = "JudgedRecord", "ExportedRecord"


def of(name: str) -> Draft202012Validator:
    """Holds records against one of the two forms, so that errors are about that one."""
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": WHOLE["$defs"]})


def faults(name: str, value: dict[str, Any]) -> list[str]:
    found = [f"{error.json_path}: {error.message}" for error in of(name).iter_errors(value)]
    assert bool(found) or Draft202012Validator(WHOLE).is_valid(value), "what keeps to one form keeps to the whole"
    return found


def judged(told: Result) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(record(7, told, feedback(told, SOURCE)), allow_nan=False))
    return made


def exported(store: Store) -> list[dict[str, Any]]:
    file = io.BytesIO()
    export_json(store, file)
    return [json.loads(line, parse_constant=pytest.fail) for line in file.getvalue().splitlines()]


SAMPLES = [(category, evidence) for category in Category for evidence in (Evidence(), full_evidence(), full_evidence("\x00 \u202e é"))]


def test_the_shipped_file_is_what_the_types_come_to_and_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert FILE.read_text(encoding="utf-8") == generated(), "python -m db.output.record_schema > db/output/record.schema.json"
    Draft202012Validator.check_schema(WHOLE)
    with pytest.raises(SystemExit, match="0"):
        main(["export", "--schema"])
    assert json.loads(capsys.readouterr().out) == WHOLE


def test_records_of_every_category_keep_to_it() -> None:
    for category, evidence in SAMPLES:
        assert faults(JUDGED, judged(result(category, evidence=evidence))) == [], category


def test_exports_of_every_category_keep_to_it(store: Store) -> None:
    store.start_run(["pipeline.py", "softmax"], 3)
    for number, (category, evidence) in enumerate(SAMPLES):
        problem = None if number % 5 else "class Model: ..."
        store.save(result(category, submission=f"{number}.py", evidence=evidence), f"{SOURCE}\ud800", problem)
    lines = exported(store)
    assert len(lines) == len(SAMPLES)
    for line in lines:
        assert faults(EXPORTED, line) == []


def test_every_field_of_a_record_is_in_it_and_required() -> None:
    made = judged(result())
    schema = WHOLE["$defs"][JUDGED]
    assert set(schema["properties"]) == set(made) == set(schema["required"])


WRONG: dict[str, dict[str, Any]] = {
    "$.speedup": {"speedup": "fast"},
    "$.status": {"status": "fine"},
    "$.baselines.eager": {"baselines": {"eager": {"runtime_ms": 1.0}}},
    "$.speedup_interval": {"speedup_interval": [1.0]},
    "$.generalises": {"generalises": "perhaps"},
    "$.id": {"id": 1.5},
    "colour": {"colour": "red"},
    "$.message": {"message": None},
}


def test_a_record_with_a_wrong_field_does_not() -> None:
    for told, change in WRONG.items():
        (found,) = faults(JUDGED, judged(result(evidence=full_evidence())) | change)
        assert told in found


def test_a_record_without_a_field_or_with_wrong_evidence_does_not(store: Store) -> None:
    store.start_run(["pipeline.py"])
    store.save(result(evidence=full_evidence()), SOURCE)
    (line,) = exported(store)
    for name in ("evidence", "source", "hint"):
        assert name in faults(EXPORTED, {key: value for key, value in line.items() if key != name})[0]
    line["evidence"]["timing"]["candidate"]["samples_ms"][0] = "soon"
    line["run"]["expected"] = "many"
    assert len(faults(EXPORTED, line)) == 2


def test_what_a_run_writes_keeps_to_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for name, source in (
        ("right", submission()),
        ("wrong", submission("x + 1")),
        ("raises", submission(before="raise ValueError('no')")),
        ("unread", "class ModelNew(:\n"),
    ):
        bench.write(f"double/{name}.py", source)
    finished = bench.run("double", "--json", "-", "--baseline", "eager")
    assert {made["status"] for made in finished.records} == {"correct", "incorrect", "run_failed", "rejected"}
    for made in finished.records:
        assert faults(JUDGED, made) == []
    with Store.open(f"sqlite:///{bench.database}", read_only=True) as store:
        for line in exported(store):
            assert faults(EXPORTED, line) == []
