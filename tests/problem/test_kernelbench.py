"""KernelBench's problems: a checkout's levels, and the rows of its data set. The files here are made for the tests."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import torch
from pyarrow import parquet

from evaluator.judge.problem_check.check import check_case
from evaluator.problem.catalogue import described, discover
from evaluator.problem.execute import ProblemError
from evaluator.problem.kernelbench import unpacked
from evaluator.problem.load import load
from evaluator.submission.attribution import Catalogue

CODE = '''
import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Scales what it is given.
    """

    def __init__(self, factor: float):
        super(Model, self).__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


batch_size = 24
dim = 48


def get_inputs():
    x = torch.rand(batch_size, dim)
    return [x]


def get_init_inputs():
    return [3.0]
'''
ROWS = [
    {"code": CODE, "level": 1, "name": "23_Scale", "problem_id": 23},
    {"code": CODE, "level": 1, "name": "24_Scale with/odd name", "problem_id": 24},
    {"code": CODE, "level": 2, "name": "Scale_twice", "problem_id": 23},
]
NAMES = {"23_Scale", "24_Scale_with_odd_name", "23_Scale_twice"}


@pytest.fixture(autouse=True)
def cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def checkout(folder: Path) -> Path:
    """The form of a checkout: KernelBench/level1, level2, …"""
    root = folder / "KernelBench" / "KernelBench"
    for level, name in ((1, "23_Scale"), (1, "100_Last"), (2, "23_Scale_Norm"), (10, "7_Far")):
        path = root / f"level{level}" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CODE)
    return root


def test_a_level_of_a_checkout_is_a_folder_of_problems(tmp_path: Path) -> None:
    found = discover([checkout(tmp_path) / "level1"])
    assert {"23_Scale", "100_Last", "softmax"} <= found.keys() and "23_Scale_Norm" not in found
    case = load(found["23_Scale"]).instance("full")
    (x,) = case.inputs(1, "cpu")
    assert x.shape == (24, 48) and case.model(1)(x).equal(3 * x)


def test_a_checkout_is_all_of_its_levels(tmp_path: Path) -> None:
    found = discover([checkout(tmp_path)])
    assert {"23_Scale", "100_Last", "23_Scale_Norm", "7_Far"} <= found.keys()
    with pytest.raises(ProblemError, match=r"holds no problem \(\*\.py\); KernelBench's levels are in .*/KernelBench$"):
        discover([tmp_path / "KernelBench"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProblemError, match=r"holds no problem \(\*\.py\)$"):
        discover([tmp_path / "empty"])


def test_a_file_beside_the_levels_hides_none_of_them(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    assert described(root) == "2 problems in level1, 1 in level2, 1 in level10"
    (root / "__init__.py").touch()
    assert described(root) == "2 problems in level1, 1 in level2, 1 in level10"
    (root / "mine.py").write_text(CODE)
    found = discover([root])
    assert {"23_Scale", "100_Last", "23_Scale_Norm", "7_Far", "mine"} <= found.keys()
    assert described(root) == "2 problems in level1, 1 in level2, 1 in level10, 1 in KernelBench"
    assert described(root / "level2") == "1 problem in level2"
    assert Catalogue(found).named("1/23") == "23_Scale"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("23_Scale", "23_Scale"),
        ("23_Scale.py", "23_Scale"),
        ("KernelBench/level1/23_Scale.py", "23_Scale"),
        ("100", "100_Last"),
        ("0100", "100_Last"),
        ("23", None),  # of two levels
        ("1/23", "23_Scale"),
        ("level2/23", "23_Scale_Norm"),
        ("level_10_problem_7", "7_Far"),
        ("3/23", None),
        ("softmax.py", "softmax"),
        ("Softmax", None),
        ("24", None),
    ],
)
def test_problems_are_meant_by_name_file_and_number(text: str, name: str | None, tmp_path: Path) -> None:
    assert Catalogue(discover([checkout(tmp_path)])).named(text) == name


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)


@pytest.mark.parametrize(("suffix", "write"), [("jsonl", write_jsonl), ("parquet", write_parquet)])
def test_rows_are_problems(suffix: str, write: Any, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{suffix}"
    write(path, ROWS)
    found = discover([path])
    assert found.keys() >= NAMES
    assert [found[name].parent.name for name in sorted(NAMES)] == ["level1", "level2", "level1"]
    assert load(found["23_Scale"]).source == CODE
    catalogue = Catalogue(found)
    assert catalogue.kernelbench("1", "23") == "23_Scale" and catalogue.kernelbench("2", "23") == "23_Scale_twice"
    assert discover([path]) == found  # unpacked once


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no rows"),
        ("{", "not JSON"),
        ('{"code": "", "level": 1, "name": "a"}', "rows.jsonl:1: problem_id"),
        ("[1]", "rows.jsonl:1"),
        ("\n".join([json.dumps(ROWS[0])] * 2), "rows.jsonl:2: problem 23 of level 1 occurs twice"),
    ],
)
def test_files_that_hold_no_rows_are_refused_and_leave_nothing(content: str, message: str, tmp_path: Path, cache_of_its_own: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    with pytest.raises(ProblemError, match=message):
        discover([path])
    assert not [*(cache_of_its_own / "problems").iterdir()]


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_text("PAR1")
    with pytest.raises(ProblemError, match=r"rows\.parquet"):
        unpacked(path, tmp_path / "cache")


def test_names_of_rows_lead_nowhere_else(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, [{"code": CODE, "level": 1, "name": "../../../evil", "problem_id": 5}])
    (made,) = unpacked(path, tmp_path / "cache").rglob("*.py")
    assert made.name == "5__evil.py" and made.parent.name == "level1"


REDUCED = """
import torch
import torch.nn as nn

batch_size = 12
features = 64
groups = 4

class Model(nn.Module):
    def __init__(self, groups, features):
        super(Model, self).__init__()
        self.norm = nn.GroupNorm(groups, features)

    def forward(self, x):
        BODY

def get_inputs():
    return [torch.rand(batch_size, features, 8)]

def get_init_inputs():
    return [groups, features]
"""


@pytest.mark.parametrize(
    ("body", "trivial"),
    [
        # What a normalization leaves of a mean is nothing, whatever is put in.
        ("return self.norm(x).mean(dim=[1, 2])", {"zeros"}),
        # One number, less itself: the mean over a dimension of one element.
        ("y = x.max(dim=1, keepdim=True).values\n        return y - y.mean(dim=1, keepdim=True)", {"zeros"}),
        # Small everywhere, which an absolute tolerance takes for zero; held to its own magnitude it is told apart.
        ("return torch.softmax(1e-3 * x.flatten(1), dim=1) * x.flatten(1) * 1e-6", set()),
    ],
)
def test_problems_that_accept_an_answer_without_work_are_flagged(body: str, trivial: set[str], tmp_path: Path) -> None:
    path = tmp_path / "66_Reduced.py"
    path.write_text(REDUCED.replace("BODY", body))
    checked = check_case(load(path).instance("full"), torch.device("cpu"))
    assert {finding.answer for finding in checked.findings} >= trivial and checked.admitted is not bool(trivial), checked.findings
