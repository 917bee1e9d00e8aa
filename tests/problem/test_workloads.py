"""Workloads as problems declare them."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load
from evaluator.problem.problem import Problem

SOURCE = """
import torch
from torch import nn

M = 8
N = 4
scale = 1.0
ASSAY = {DECLARED}

class Model(nn.Module):
    def forward(self, x):
        return x * scale

def get_inputs():
    return [torch.rand(M, N)]

def get_init_inputs():
    return []
"""


def problem(folder: Path, workloads: object, **more: object) -> Problem:
    path = folder / "scaled.py"
    path.write_text(SOURCE.replace("{DECLARED}", repr({"workloads": workloads, **more})))
    return load(path)


def trace(axes: dict[str, int], **inputs: dict[str, Any]) -> str:
    """A line of flashinfer-trace's form."""
    workload = {"uuid": "5e2f", "axes": axes, "inputs": {"x": {"type": "random"}, **inputs}}
    return json.dumps({"definition": "scaled", "solution": None, "workload": workload, "evaluation": None})


def test_a_table_of_sizes(tmp_path: Path) -> None:
    found = problem(tmp_path, [{"M": 2, "N": 4}, {"M": 8, "N": 4}, {"M": 2, "N": 4}])
    assert found.case_names == ("full", "2x4", "8x4")
    assert found.facts.case_names == ("full", "2x4", "8x4", "all")
    assert [case.name for case in found.workloads()] == ["8x4", "2x4"]
    assert found.instance("2x4").inputs(0, "cpu")[0].shape == (2, 4)
    assert found.instance("all").name == "full"


def test_all_is_the_default_case_where_there_is_no_small_one(tmp_path: Path) -> None:
    found = problem(tmp_path, [{"M": 8}])
    assert (found.default_case("cuda"), found.default_case("cpu")) == ("all", "all")
    found = problem(tmp_path, [{"M": 8}], cases={"full": {}, "small": {"M": 2}})
    assert (found.default_case("cuda"), found.default_case("cpu")) == ("all", "small")


def test_a_file_of_workloads_is_read_as_it_is(tmp_path: Path) -> None:
    lines = [trace({"M": 8}), "", trace({"M": 16}, scale={"type": "scalar", "value": 0.5}), trace({"M": 8})]
    (tmp_path / "sizes.jsonl").write_text("\n".join(lines))
    found = problem(tmp_path, "sizes.jsonl")
    assert found.declaration.workloads == {"8": {"M": 8}, "16x0-5": {"M": 16, "scale": 0.5}}
    (tmp_path / "sizes.jsonl").write_text("\n".join(lines[:1]))
    assert problem(tmp_path, "sizes.jsonl").sha256 != found.sha256


@pytest.mark.parametrize(
    ("workloads", "rule"),
    [
        ([{"M": 2}], "no workload has the sizes of 'full'"),
        ([{"M": 8}, {"K": 2}], "sets 'K', but the module has no such constant"),
        ({"all": {"M": 8}}, "'all' stands for all workloads"),
        ({"full": {"M": 8}}, "'full' is a case already"),
        ([{"M": 8, "N": 4}, {"M": "8x4"}], "two workloads would be named '8x4'"),
        ([{}], "makes no name"),
        ("missing.jsonl", "missing.jsonl can't be read"),
        (7, "valid dictionary"),
    ],
)
def test_what_can_t_be_read_is_told(tmp_path: Path, workloads: object, rule: str) -> None:
    with pytest.raises(ProblemError, match=rule) as error:
        problem(tmp_path, workloads)
    assert error.value.line == 8


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("{", "line 2: "),
        ("[]", "line 2: not a workload"),
        (trace({"M": 0}), "line 2: axis 'M' is 0"),
        (trace({"M": 8}, y={"type": "safetensors", "path": "a"}), "line 2: input 'y' is of type 'safetensors'"),
    ],
)
def test_a_line_that_can_t_be_read_is_told(tmp_path: Path, line: str, rule: str) -> None:
    (tmp_path / "sizes.jsonl").write_text(f"{trace({'M': 8})}\n{line}\n")
    with pytest.raises(ProblemError, match=rule):
        problem(tmp_path, "sizes.jsonl")
