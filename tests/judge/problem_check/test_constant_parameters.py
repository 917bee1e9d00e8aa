"""A parameter that a submission can leave out is noted."""

from pathlib import Path

import pytest
import torch

from evaluator.judge.problem_check.check import check_case
from evaluator.problem.load import load

FORM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Parameter({gate})

    def forward(self, x):
        return {answer}

def get_inputs():
    return [torch.randn(64, 100)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("gate", "answer", "is_noted"),
    [
        ("torch.zeros(100)", "x**3 * torch.sigmoid(self.gate)", True),
        ("torch.tensor(1.0)", "x**3 * self.gate", True),
        ("torch.randn(100)", "x**3 * torch.sigmoid(self.gate)", False),
        ("torch.randn(1)", "x**3 * self.gate", False),
        ("torch.zeros(100)", "x**3 + 0 * self.gate", False),
    ],
)
def test_a_constant_parameter_is_noted_and_refuses_nothing(gate: str, answer: str, is_noted: bool, tmp_path: Path) -> None:
    path = tmp_path / "problem.py"
    path.write_text(FORM.format(gate=gate, answer=answer))
    found = check_case(load(path).instance("full"), torch.device("cpu"))
    assert found.admitted and ("leaves out `gate` would pass" in " ".join(found.notes)) == is_noted
