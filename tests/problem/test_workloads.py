"""Workloads as problems declare them."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import evaluator.problem.load
from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load
from evaluator.problem.problem import Problem
from evaluator.problem.stored_inputs import are_all_stored

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


def problem(folder: Path, workloads: object, tail: str = "", **more: object) -> Problem:
    path = folder / "scaled.py"
    path.write_text(SOURCE.replace("{DECLARED}", repr({"workloads": workloads, **more})) + tail)
    return load(path)


def trace(axes: dict[str, int], uuid: str = "5e2f", **inputs: dict[str, Any]) -> str:
    """A line of flashinfer-trace's form."""
    workload = {"uuid": uuid, "axes": axes, "inputs": {"x": {"type": "random"}, **inputs}}
    return json.dumps({"definition": "scaled", "solution": None, "workload": workload, "evaluation": None})


def test_a_table_of_sizes(tmp_path: Path) -> None:
    found = problem(tmp_path, [{"M": 2, "N": 4}, {"M": 8, "N": 4}])
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
    lines = [trace({"M": 8}), "", trace({"M": 16}, scale={"type": "scalar", "value": 0.5})]
    (tmp_path / "sizes.jsonl").write_text("\n".join(lines))
    found = problem(tmp_path, "sizes.jsonl")
    assert found.declaration.workloads == {"8": {"M": 8}, "16x0-5": {"M": 16, "scale": 0.5}}
    (tmp_path / "sizes.jsonl").write_text("\n".join(lines[:1]))
    assert problem(tmp_path, "sizes.jsonl").sha256 != found.sha256


def test_workloads_of_equal_sizes_have_names_that_tell_them_apart(tmp_path: Path) -> None:
    lines = [
        trace({"M": 8}, "6120F144-b973"),
        trace({"M": 2}),
        trace({"M": 8}, "a1b2c3d4-e5f6"),
        trace({"M": 8}, ""),
        trace({"M": 8}, "a1b2c3d4-ffff"),
    ]
    (tmp_path / "sizes.jsonl").write_text("\n".join(lines))
    found = problem(tmp_path, "sizes.jsonl")
    assert found.case_names == ("full", "8-6120f144", "2", "8-a1b2c3d4", "8-1", "8-2")
    assert found.workloads()[0].name == "8-6120f144"


def test_a_number_makes_no_name_that_sizes_make(tmp_path: Path) -> None:
    found = problem(tmp_path, [{"M": 8}, {"N": 8}, {"scale": 8.1}])
    assert found.case_names == ("full", "8-2", "8-3", "8-1")
    assert found.declaration.workloads["8-1"] == {"scale": 8.1}


def stored(path: str = "blob/x.safetensors", key: str = "x") -> dict[str, Any]:
    return {"type": "safetensors", "path": path, "tensor_key": key}


def test_a_stored_input_is_given_in_each_nominal_draw(tmp_path: Path) -> None:
    """Its path is relative to the folder that holds `workloads/`, as in flashinfer-trace."""
    (tmp_path / "workloads/op").mkdir(parents=True)
    (tmp_path / "blob").mkdir()
    x = torch.rand(2, 4)
    save_file({"x": x}, tmp_path / "blob/x.safetensors")
    (tmp_path / "workloads/op/sizes.jsonl").write_text("\n".join([trace({"M": 8}), trace({"M": 2}, x=stored()), trace({"M": 2}, "77")]))
    found = problem(tmp_path, "workloads/op/sizes.jsonl", dtype="float16")
    assert found.case_names == ("full", "8", "2-5e2f", "2-77")
    case = found.instance("2-5e2f")
    (first,), (second,), (other,) = case.inputs(1, "cpu"), case.inputs(2, "cpu"), case.inputs(1, "cpu", with_files=False)
    assert torch.equal(first, x.half()) and torch.equal(second, first) and not torch.equal(other, first)
    assert case.inputs(1, "meta")[0].shape == (2, 4)
    first.zero_()
    assert torch.equal(case.inputs(1, "cpu")[0], x.half()), "judging changes inputs in place"
    assert are_all_stored([first, 3], case.stored) and not are_all_stored([first, second], case.stored)
    assert not are_all_stored([first], found.instance("8").stored)
    save_file({"x": x + 1}, tmp_path / "blob/x.safetensors")
    assert problem(tmp_path, "workloads/op/sizes.jsonl").sha256 != found.sha256


def test_the_full_case_has_the_inputs_of_its_workload(tmp_path: Path) -> None:
    save_file({"x": torch.zeros(8, 4)}, tmp_path / "x.safetensors")
    (tmp_path / "sizes.jsonl").write_text(trace({"M": 8}, x=stored("x.safetensors")))
    assert not problem(tmp_path, "sizes.jsonl").instance("all").inputs(1, "cpu")[0].any()


def test_a_problem_may_vary_its_stored_inputs(tmp_path: Path) -> None:
    x = torch.rand(8, 4)
    save_file({"x": x}, tmp_path / "x.safetensors")
    (tmp_path / "sizes.jsonl").write_text(trace({"M": 8}, x=stored("x.safetensors")))
    case = problem(tmp_path, "sizes.jsonl", "def vary_inputs(x):\n    return [x.add_(torch.rand(1))]").instance("8")
    (first,), (second,), (again,) = (case.inputs(seed, "cpu") for seed in (1, 2, 1))
    assert torch.equal(first, again) and not torch.equal(first, second)
    assert torch.allclose((second - x).std(), torch.zeros(()), atol=1e-6), "each draw begins with the file's values"
    assert case.inputs(1, "meta")[0].shape == (8, 4)
    assert torch.equal(case.inputs(1, "cpu", with_files=False)[0], problem(tmp_path, [{"M": 8}]).instance("8").inputs(1, "cpu")[0])


@pytest.mark.parametrize(
    ("tail", "rule"),
    [
        ("def vary_inputs(x):\n    return [x[:2]]", r"vary_inputs\(\) returned float32 of shape \(2, 4\) instead of"),
        ("def vary_inputs(x):\n    return [x, x]", r"vary_inputs\(\) returned another number of tensors"),
        ("def vary_inputs(x):\n    return x", r"vary_inputs\(\) returned a Tensor; return a list"),
        ("def vary_inputs(x):\n    raise KeyError(x)", r"vary_inputs\(\) raised KeyError"),
        ("vary_inputs = 3", "vary_inputs is not a function"),
    ],
)
def test_a_wrong_variation_is_told(tmp_path: Path, tail: str, rule: str) -> None:
    save_file({"x": torch.zeros(8, 4)}, tmp_path / "x.safetensors")
    (tmp_path / "sizes.jsonl").write_text(trace({"M": 8}, x=stored("x.safetensors")))
    with pytest.raises(ProblemError, match=rule):
        problem(tmp_path, "sizes.jsonl", tail).instance("8").inputs(1, "cpu")


def test_a_stored_file_is_hashed_again_only_if_it_may_have_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes: dict[tuple[object, ...], str] = {}
    monkeypatch.setattr(evaluator.problem.load, "_HASHES", hashes)
    path = tmp_path / "x.safetensors"
    save_file({"x": torch.zeros(8, 4)}, path)
    (tmp_path / "sizes.jsonl").write_text(trace({"M": 8}, x=stored("x.safetensors")))
    right = problem(tmp_path, "sizes.jsonl").sha256
    assert not hashes, "a file that was just written may be written again at the same time"
    monkeypatch.setattr(evaluator.problem.load, "RECENT_NS", -(10**9))
    assert problem(tmp_path, "sizes.jsonl").sha256 == right and list(hashes.values()) == [right]
    hashes.update(dict.fromkeys(hashes, "kept"))
    assert problem(tmp_path, "sizes.jsonl").sha256 == "kept"
    written_ns = path.stat().st_mtime_ns
    save_file({"x": torch.ones(8, 4)}, path)
    os.utime(path, ns=(written_ns, written_ns))
    assert problem(tmp_path, "sizes.jsonl").sha256 not in ("kept", right)


@pytest.mark.parametrize(
    ("axes", "inputs", "rule"),
    [
        ({"M": 8}, {"x": stored(key="y")}, "x.safetensors has no tensor 'y'; it has n, x"),
        ({"M": 9}, {"x": stored()}, r"'9': 'x' is float32 of shape \(8, 4\) in x.safetensors, but get_inputs\(\) makes .*\(9, 4\)"),
        ({"M": 8}, {"x": stored(key="n")}, "'x' is int64 of shape"),
        ({"M": 8}, {"x": stored("blob/pointer")}, "pointer can't be read: .*git lfs pull"),
        ({"M": 8}, {"x": stored("blob/none")}, "line 1: there is no file 'blob/none' below .*; put it there"),
        ({"M": 8}, {"x": stored("x" * 300)}, "line 1: the path 'xxx.* can't be looked up: "),
        ({"M": 8}, {"x": stored("blob/broken")}, "blob/broken can't be read: "),
        ({"M": 8}, {"x": stored("../x.safetensors")}, "line 1: the path '../x.safetensors' leaves the folder; put the file below"),
        ({"M": 8}, {"x": stored("/x.safetensors")}, "leaves the folder"),
        ({"M": 8}, {"X": stored()}, r"forward\(\) has no argument 'X'; name the argument so, or the input x"),
    ],
)
def test_a_stored_input_that_can_t_be_used_is_told(tmp_path: Path, axes: dict[str, int], inputs: dict[str, Any], rule: str) -> None:
    (tmp_path / "blob").mkdir()
    save_file({"x": torch.zeros(8, 4), "n": torch.zeros(8, 4, dtype=torch.int64)}, tmp_path / "blob/x.safetensors")
    (tmp_path / "blob/broken").symlink_to("/proc/self/mem")
    (tmp_path / "blob/pointer").write_text("version https://git-lfs.github.com/spec/v1\n")
    lines = [trace(axes, **inputs), *([trace({"M": 8})] if axes != {"M": 8} else [])]
    (tmp_path / "sizes.jsonl").write_text("\n".join(lines))
    with pytest.raises(ProblemError, match=rule):
        problem(tmp_path, "sizes.jsonl").workloads()[-1].inputs(1, "cpu")


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    (tmp_path / "x.safetensors").write_bytes(b"")
    (tmp_path / "sizes.jsonl").write_text(trace({"M": 8}, x=stored("x.safetensors")))
    with pytest.raises(ProblemError, match=r"extra \[safetensors\]"):
        problem(tmp_path, "sizes.jsonl").instance("8").inputs(1, "cpu")


@pytest.mark.parametrize(
    ("workloads", "rule"),
    [
        ([{"M": 2}], "no workload has the sizes of 'full'"),
        ([{"M": 8}, {"K": 2}], "sets 'K', but the module has no such constant"),
        ({"all": {"M": 8}}, "'all' stands for all workloads"),
        ({"full": {"M": 8}}, "'full' is a case already"),
        ([{"M": 8}, {"M": 2}, {"M": 8}], "entry 3 repeats entry 1; delete one"),
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
        (trace({"M": 8}), "line 2 repeats line 1; delete one"),
        (trace({"M": 8}, x={"type": "safetensors", "path": "a"}), "line 2: input 'x' is .*; its type must be `random`, `scalar`"),
    ],
)
def test_a_line_that_can_t_be_read_is_told(tmp_path: Path, line: str, rule: str) -> None:
    (tmp_path / "sizes.jsonl").write_text(f"{trace({'M': 8})}\n{line}\n")
    with pytest.raises(ProblemError, match=rule):
        problem(tmp_path, "sizes.jsonl")
