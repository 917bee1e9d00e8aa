"""KernelBench's own verdicts. The files here are made for the tests."""

import json
from pathlib import Path

import pytest

from db.error import StoreError
from db.kernelbench_results import ForeignVerdict, verdicts

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
