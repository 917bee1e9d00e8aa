"""Submissions of problems that are called in other ways: arguments that are changed, gradients, training mode."""

from typing import Any

import pytest

from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.judge.conftest import Judge

slow = pytest.mark.slow(20)
ENDS = """
def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""
STEP = """
import torch

ASSAY = {"in_place": [0]}

class Model(torch.nn.Module):
    def forward(self, parameter, gradient):
        BODY
""" + ENDS.format(inputs="torch.randn(67, 31), torch.randn(67, 31)")
LINEAR = """
import torch

ASSAY = {"backward": True, "mode": "train"}

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(31, 17, bias=False)
        self.norm = torch.nn.BatchNorm1d(17)

    def forward(self, x):
        BODY
""" + ENDS.format(inputs="torch.randn(67, 31)")


STEPS, LINEARS = "parameter.sub_(gradient, alpha=0.5)", "return self.norm(self.linear(x))"


def judged(judge: Judge, problem: str, right: str, body: str, **more: Any) -> Result:
    """The result of the problem's own text with another body."""
    code = problem.replace("Model(", "ModelNew(").replace("BODY", body)
    return judge(code, problem_text=problem.replace("BODY", right), **more)


@pytest.mark.parametrize(
    ("body", "category"),
    [
        (STEPS, Category.NO_CUSTOM_KERNEL),
        ("parameter.sub_(gradient, alpha=0.4)", Category.WRONG_VALUES),
        ("return parameter - 0.5 * gradient", Category.WRONG_STRUCTURE),
        (f"{STEPS}; gradient.zero_()", Category.MUTATED_INPUT),
    ],
)
def test_what_is_in_the_changed_argument_counts(judge: Judge, body: str, category: Category) -> None:
    result = judged(judge, STEP, STEPS, body)
    assert result.category is category, result.message


@pytest.mark.parametrize(
    ("body", "category", "said"),
    [
        (LINEARS, Category.NO_CUSTOM_KERNEL, ""),
        ("return self.norm(self.linear(x.detach()))", Category.WRONG_VALUES, "output['inputs'][0]"),
        pytest.param(f"{LINEARS}[:, :5]", Category.WRONG_SHAPE, "['output'] has shape (67, 5)", marks=slow),
    ],
)
def test_gradients_count(judge: Judge, body: str, category: Category, said: str) -> None:
    result = judged(judge, LINEAR, LINEARS, body)
    assert (result.category, said in result.message) == (category, True), result.message


UNCOMPILED = STEP.replace("class", f"@torch.compiler.disable\ndef step(parameter, gradient):\n    {STEPS}\n\nclass")


@slow
@pytest.mark.parametrize(("problem", "right"), [(UNCOMPILED, "step(parameter, gradient)"), (LINEAR, "return self.linear(x)")])
def test_a_compiled_baseline_is_called_in_the_same_way(judge: Judge, problem: str, right: str) -> None:
    """In a few seconds, since nothing here makes TorchInductor build C++."""
    result = judged(judge, problem, right, right, baselines=("eager", "compile"))
    timing = result.evidence.timing
    assert timing is not None and timing.failed_baselines == {}, result.message
    assert list(result.baselines) == ["eager", "compile"]
