"""Submissions of problems that are called in other ways: arguments that are changed, gradients, training mode."""

from pathlib import Path

import pytest

from evaluator.results.category import Category
from tests.judge.conftest import Judge

pytestmark = pytest.mark.slow(40)

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


@pytest.mark.parametrize(
    ("body", "category"),
    [
        ("parameter.sub_(gradient, alpha=0.5)", Category.NO_CUSTOM_KERNEL),
        ("parameter.sub_(gradient, alpha=0.4)", Category.WRONG_VALUES),
        ("pass", Category.WRONG_VALUES),
        ("return parameter - 0.5 * gradient", Category.WRONG_STRUCTURE),
        ("parameter.sub_(gradient, alpha=0.5); gradient.zero_()", Category.MUTATED_INPUT),
    ],
)
def test_what_is_in_the_changed_argument_counts(judge: Judge, tmp_path: Path, body: str, category: Category) -> None:
    path = tmp_path / "step.py"
    path.write_text(STEP.replace("BODY", "parameter.sub_(gradient, alpha=0.5)"))
    result = judge(STEP.replace("Model(", "ModelNew(").replace("BODY", body), "step", problem_path=path)
    assert result.category is category, result.message


@pytest.mark.parametrize(
    ("body", "category", "said"),
    [
        ("return self.norm(self.linear(x))", Category.NO_CUSTOM_KERNEL, ""),
        ("return self.norm(self.linear(x)).detach()", Category.PYTHON_EXCEPTION, "needs a torch.autograd.Function"),
        ("return self.norm(self.linear(x.detach()))", Category.WRONG_VALUES, "output['inputs'][0]"),
        ("y = self.norm(self.linear(x))\n        return y.detach() + (y - y.detach()) * 2", Category.WRONG_VALUES, "output['inputs'][0]"),
        ("return self.norm(self.linear(x))[:, :5]", Category.WRONG_SHAPE, "['output'] has shape (67, 5)"),
        ("self.norm.eval()\n        return self.norm(self.linear(x))", Category.WRONG_VALUES, "output['output']"),
    ],
)
def test_gradients_count(judge: Judge, tmp_path: Path, body: str, category: Category, said: str) -> None:
    path = tmp_path / "linear.py"
    path.write_text(LINEAR.replace("BODY", "return self.norm(self.linear(x))"))
    result = judge(LINEAR.replace("Model(", "ModelNew(").replace("BODY", body), "linear", problem_path=path)
    assert (result.category, said in result.message) == (category, True), result.message


def test_parameters_need_the_names_of_the_references(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "linear.py"
    path.write_text(LINEAR.replace("BODY", "return self.norm(self.linear(x))"))
    code = LINEAR.replace("Model(", "ModelNew(").replace("self.norm", "self.other").replace("BODY", "return self.other(self.linear(x))")
    result = judge(code, "linear", problem_path=path)
    assert (result.category, "['parameters']['norm.weight'] is None" in result.message) == (Category.WRONG_STRUCTURE, True), result.message


def test_a_compiled_baseline_is_called_in_the_same_way(judge: Judge, tmp_path: Path) -> None:
    for name, text, body in (
        ("step", STEP, "parameter.sub_(gradient, alpha=0.5)"),
        ("linear", LINEAR, "return self.norm(self.linear(x))"),
    ):
        path = tmp_path / f"{name}.py"
        path.write_text(text.replace("BODY", body))
        code = text.replace("Model(", "ModelNew(").replace("BODY", body)
        result = judge(code, name, problem_path=path, baselines=("eager", "compile"))
        timing = result.evidence.timing
        assert timing is not None and timing.failed_baselines == {}, result.message
        assert list(result.baselines) == ["eager", "compile"]
