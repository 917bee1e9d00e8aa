"""Fewer rows of a case, and what a check of them finds."""

from pathlib import Path

import pytest
import torch

from evaluator.judge.problem_check.check import check_case
from evaluator.judge.problem_check.fewer_rows import MOST_ELEMENTS, with_fewer_rows
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.problem.problem import ProblemCase

PROBLEM = """
import torch
from torch import nn

rows, columns = 1 << 18, 64
ASSAY = {"description": "Of rows", "cases": {"full": {}, "small": {"rows": 8}}, "rows_independent": True, "inputs": "any"}

class Model(nn.Module):
    def forward(self, x):
        return ANSWER

def get_inputs():
    return [torch.randn(rows, columns)]

def get_init_inputs():
    return []
"""


def case_of(folder: Path, answer: str, text: str = PROBLEM) -> ProblemCase:
    path = folder / "rows_of.py"
    path.write_text(text.replace("ANSWER", answer))
    return load(path).instance("full")


def shapes(case: ProblemCase) -> list[tuple[int, ...]]:
    return [tuple(tensor.shape) for tensor in case.inputs(0, "meta")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("softmax", [(8, 393216)]),
        ("rms_norm", [(512, 8192)]),
        ("attention", [(2, 16, 2048, 64)] * 3),
        ("embedding_bag", [(32768, 32)]),
        ("matmul", [(4096, 4096), (4096, 4096)]),
        ("cross_entropy", [(32768, 16384), (32768,)]),
    ],
)
def test_rows_are_fewer_where_they_are_independent(name: str, expected: list[tuple[int, ...]]) -> None:
    case = load(SHIPPED / f"{name}.py").instance("full")
    whole = shapes(case)
    assert shapes(with_fewer_rows(case)) == expected
    assert shapes(case) == whole, "the case itself stays"


def test_small_cases_stay(tmp_path: Path) -> None:
    case = load(SHIPPED / "softmax.py").instance("small")
    assert with_fewer_rows(case) is case


def test_a_constant_that_sets_more_than_rows_stays(tmp_path: Path) -> None:
    text = PROBLEM.replace("1 << 18, 64", "1 << 13, 64").replace("torch.randn(rows, columns)", "torch.randn(rows, rows)")
    case = case_of(tmp_path, "x * 2", text)
    assert with_fewer_rows(case) is case and shapes(case)[0][0] ** 2 > MOST_ELEMENTS


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("x.softmax(1)", set()),
        ("x - x.mean(0)", {"oracle"}),  # its rows are not independent
        ("torch.ones_like(x)", {"trivial_answer"}),
    ],
)
def test_fewer_rows_show_what_all_would(tmp_path: Path, answer: str, found: set[str]) -> None:
    case = case_of(tmp_path, answer)
    assert shapes(with_fewer_rows(case)) == [(1 << 16, 64)]
    result = check_case(case, torch.device("cpu"))
    assert {finding.check for finding in result.findings} == found
