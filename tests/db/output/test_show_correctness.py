"""The text of correctness rounds."""

from typing import Any

import pytest

from db.output.facts import environment_facts
from db.output.show_correctness import rounds_section
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence, ErrorFigures, ErrorMap, Evidence, RoundEvidence
from tests.db.samples import result

WRONG: dict[str, Any] = {
    "output": "",
    "elements": 4096,
    "wrong": 4095,
    "max_error": 1.0,
    "rms_error": 1.0,
    "tolerance": 1e-4,
    "reference_error": None,
}


def told(rows: tuple[str, ...], **figures: Any) -> list[str]:
    """The text of a wrong output with this error map."""
    output = ErrorFigures(**WRONG, **figures, error_map=ErrorMap(rows=rows, rows_per_cell=1, columns_per_cell=32))
    return [str(item) for item in rounds_section([RoundEvidence(index=0, seed=1, passed=False, outputs=(output,))])]


@pytest.mark.parametrize(
    ("figures", "is_shown"),
    [
        ({"pattern": "everything"}, False),
        ({"pattern": "scattered", "likeness": "all of them are 0"}, True),
        ({"pattern": "scattered", "likeness": "40 of them are 0"}, True),
        ({"pattern": "a tail of 3"}, True),
    ],
)
def test_the_error_map_is_shown_where_it_adds_to_the_pattern(figures: dict[str, str], is_shown: bool) -> None:
    assert ("half decades" in " ".join(told((".4", "44"), **figures))) == is_shown


def test_settings_of_cuda_are_shown_where_cuda_had_a_part() -> None:
    of_cuda = {"nvcc", "setting cudnn_tf32", "setting arch"}
    ran = result(Category.OK)
    assert ran.environment is not None
    settings = {"cudnn_tf32": False, "arch": ["9.0a"], "threads": 4}
    environment = ran.environment.model_copy(update={"settings": settings, "nvcc": "V13"})
    on_gpu = ran.model_copy(update={"environment": environment})
    on_cpu = on_gpu.model_copy(update={"device": "cpu", "evidence": Evidence()})
    builds = (BuildEvidence(name="x", key="", ok=False, uses_cuda=True),)
    compiled = on_cpu.model_copy(update={"evidence": Evidence(builds=builds)})
    assert of_cuda <= environment_facts(on_gpu).keys() and of_cuda <= environment_facts(compiled).keys()
    assert not of_cuda & environment_facts(on_cpu).keys() and environment_facts(on_cpu)["setting threads"] == 4


def test_rows_of_the_error_map_that_are_alike_are_one_line() -> None:
    assert told((".4", *["44"] * 63))[-1].splitlines() == ["    .4", "    44 (63 such rows)"]
