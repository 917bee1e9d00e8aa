"""Kernels that the judge loads before it holds the device."""

from pathlib import Path

import pytest
import torch

from evaluator.judge.correctness.kernel_warmup import warm
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.machine.devices import cpu
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load

CPU = torch.device("cpu")
ONLY_FULL = """
import torch
from torch import nn
ROWS = 4
class Model(nn.Module):
    def forward(self, x):
        raise ValueError("asked")
def get_inputs():
    return [torch.randn(ROWS, 8)]
def get_init_inputs():
    return []
"""
FAILING = ONLY_FULL + 'ASSAY = {"cases": {"small": {"ROWS": 2}, "full": {}}}\n'


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each input that a reference is asked about."""
    rows: list[int] = []
    expected = Oracle.expected

    def counted(self: Oracle, inputs: list[torch.Tensor]) -> object:
        rows.append(len(inputs[0]))
        return expected(self, inputs)

    monkeypatch.setattr(Oracle, "expected", counted)
    return rows


def test_a_problem_is_warmed_up_once_at_its_small_case(asked: list[int]) -> None:
    problem, warmed = load(SHIPPED / "softmax.py"), set[str]()
    warm(problem, cpu(), warmed)
    assert warmed == {problem.sha256}
    small = len(problem.instance("small").inputs(0, CPU)[0])
    assert len(asked) > 5 and set(asked) == {small}
    asked.clear()
    warm(problem, cpu(), warmed)
    assert asked == []


def test_a_problem_without_a_small_case_is_left_alone(tmp_path: Path, asked: list[int]) -> None:
    (tmp_path / "large.py").write_text(ONLY_FULL)
    warm(load(tmp_path / "large.py"), cpu(), set())
    assert asked == []


def test_a_reference_that_fails_is_left_to_the_rounds(tmp_path: Path, asked: list[int]) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    warm(load(tmp_path / "failing.py"), cpu(), set())
    assert asked == [2]
