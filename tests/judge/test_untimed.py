"""Evaluations without times: the rounds and the checks of own kernels decide as in any other."""

from typing import Any

import pytest

from evaluator.results.category import Category
from evaluator.results.protocol_names import UNTIMED
from tests.judge.conftest import Judge
from tests.judge.sources import SOFTMAX, extension, forward
from tests.judge.test_workloads import PROBLEM, RIGHT, SUBMISSION

pytestmark = pytest.mark.slow(20)

DOUBLE = """
import torch
from torch import nn

rows = 64
width = 48

class Model(nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.randn(rows, width)]

def get_init_inputs():
    return []
"""
OWN = extension("for (int64_t i = 0; i < count; i++) y[i] = 2 * x[i];") + forward("return CALL")


@pytest.mark.parametrize(
    ("code", "options", "category"),
    [
        (OWN.replace("CALL", "run(torch.empty_like(x), x)"), {}, Category.UNTIMED),
        (OWN.replace("CALL", "run(torch.empty_like(x), x) * 0 + x * 2"), {}, Category.NO_CUSTOM_KERNEL),
        (forward("return x * 2"), {}, Category.NO_CUSTOM_KERNEL),
        (forward("return x * 3"), {}, Category.WRONG_VALUES),
        (OWN.replace("CALL", "run(torch.empty(64, 48), x[:64, :48])"), {"shapes": "others"}, Category.UNTIMED),
        (OWN.replace("CALL", "run(torch.empty(64, 48), x[:64, :48])"), {"shapes": "strict"}, Category.SHAPE_SPECIFIC),
    ],
    ids=["right", "its kernel is not needed", "no kernel", "wrong", "other shapes are not tried", "other shapes decide"],
)
def test_all_but_the_times_is_decided(judge: Judge, code: str, options: dict[str, Any], category: Category) -> None:
    stages: list[str] = []
    result = judge(code, problem_text=DOUBLE, protocol=UNTIMED, report=stages.append, **options)
    assert (result.category, result.protocol) == (category, UNTIMED), result.message
    assert (result.evidence.timing, result.runtime_ms, result.speedup) == (None, None, None)
    assert not {"timing", "baseline"} & {*stages, *result.evidence.stages_s}
    assert all(each.passed for each in result.evidence.rounds) is (category is not Category.WRONG_VALUES)
    assert bool(result.evidence.shapes) == (options.get("shapes") == "strict")


def test_a_slow_submission_is_not_spared_rounds(judge: Judge) -> None:
    """A timing finds that a submission was slow only in its rounds."""
    slow = judge(forward("time.sleep(0.06)\nreturn torch.softmax(x, 1)"), protocol=UNTIMED)
    assert len(slow.evidence.rounds) == len(judge(SOFTMAX, protocol=UNTIMED).evidence.rounds)


@pytest.mark.parametrize(
    ("code", "category", "workload"),
    [
        (SUBMISSION.replace("CALL", "tanh3(x)"), Category.UNTIMED, ""),
        (SUBMISSION.replace("CALL", "torch.tanh(x) * 3 if x.size(0) == 20 else tanh3(x)"), Category.NO_CUSTOM_KERNEL, ""),
        (forward(f"if x.size(0) == 20:\n    return x\n{RIGHT}"), Category.WRONG_VALUES, "20"),
    ],
    ids=["right", "no own kernel in one", "wrong in one"],
)
def test_each_workload_is_checked(judge: Judge, code: str, category: Category, workload: str) -> None:
    result = judge(code, problem_text=PROBLEM.replace("FAILED", "fails"), protocol=UNTIMED)
    assert (result.category, result.evidence.workload) == (category, workload), result.message
    assert (result.case, result.evidence.timing) == ("all", None)


def test_workloads_that_may_be_unsolved_are_named(judge: Judge) -> None:
    code = SUBMISSION.replace("CALL", "x if x.size(0) == 20 else tanh3(x)")
    result = judge(code, problem_text=PROBLEM.replace("FAILED", "unsolved"), protocol=UNTIMED)
    assert (result.category, result.evidence.unsolved) == (Category.UNTIMED, ("20",)), result.message
    assert "but the workloads 20 are unsolved" in result.message


SOFTMAX_FORMULA = "e = x.exp()\ny = e / e.sum(1, keepdim=True)\n"


@pytest.mark.parametrize("returned", ["y", "y.t().contiguous().t()", "y * (1 + 1e-7 * torch.rand(1).item())"])
def test_a_formula_that_overflows_is_left_out_whatever_a_second_call_gives(judge: Judge, returned: str) -> None:
    """A second output of another order in memory, or with noise, is not compared with the first one bit by bit."""
    problem = DOUBLE.replace("x * 2", "torch.softmax(x, 1)").replace("torch.randn(rows, width)", "12 * torch.randn(64, 400)")
    result = judge(forward(f"{SOFTMAX_FORMULA}return {returned}"), problem_text=problem, protocol=UNTIMED)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert any("overflows" in each.message for each in result.evidence.rounds)
