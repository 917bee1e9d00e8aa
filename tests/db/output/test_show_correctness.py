"""The text of correctness rounds."""

from typing import Any

from db.output.show_correctness import rounds_section
from evaluator.results.evidence import ErrorFigures, ErrorMap, RoundEvidence


def test_rows_of_the_error_map_that_are_alike_are_one_line() -> None:
    wrong: dict[str, Any] = {
        "output": "",
        "elements": 4096,
        "wrong": 4095,
        "max_error": 1.0,
        "rms_error": 1.0,
        "tolerance": 1e-4,
        "reference_error": None,
    }
    error_map = ErrorMap(rows=(".4", *["44"] * 63), rows_per_cell=1, columns_per_cell=32)
    failed = RoundEvidence(index=0, seed=1, passed=False, outputs=(ErrorFigures(**wrong, error_map=error_map),))
    shown = [str(item) for item in rounds_section([failed])]
    assert shown[-1].splitlines() == ["    .4", "    44 (63 such rows)"]
