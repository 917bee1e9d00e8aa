"""References whose output depends on rounding alone, judged on the CPU from end to end: no value can be called wrong."""

from itertools import accumulate

import pytest

from evaluator.results.category import Category
from evaluator.results.evidence import LeftOutBy
from evaluator.results.result import Result
from tests.judge.conftest import Judge
from tests.judge.sources import forward

PROBLEM = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, shift):
        return (x + shift) - shift


def get_inputs():
    return [torch.randn(64, 200), torch.full((1,), 1e5 if ACCURATE else 1e8)]


def get_init_inputs():
    return []
"""
ANSWER = """
import itertools

import torch
from torch import nn

factors = itertools.cycle((20, 30))


class ModelNew(nn.Module):
    def forward(self, x, shift):
        return RESULT
"""
slow = pytest.mark.slow(15)
ROUGHER = "(x + 40 * shift) - 40 * shift"
ALTERNATING = "(x + (far := shift * next(factors))) - far"


def judged(judge: Judge, result: str, accurate: str = "False", reference: str = "(x + shift) - shift") -> Result:
    """Judge an answer of this `result`. The reference keeps two digits if `accurate`, and else none."""
    text = PROBLEM.replace("ACCURATE", accurate).replace("(x + shift) - shift", reference)
    return judge(ANSWER.replace("RESULT", result), problem_text=text)


@pytest.mark.parametrize("result", [ROUGHER, pytest.param(ALTERNATING, marks=slow)])
def test_a_value_is_not_wrong_if_the_reference_keeps_no_digit(judge: Judge, result: str) -> None:
    found = judged(judge, result)
    assert found.category is Category.DEGENERATE_PROBLEM, found.message
    assert "no answer can be called wrong: rounded otherwise, the reference differs from its float64 form by" in found.message


@slow
def test_a_reference_that_is_accurate_by_chance_is_uncertain_too(judge: Judge) -> None:
    """With these inputs it rounds almost nothing away. Other orders of its operations would."""
    few_bits = PROBLEM.replace("torch.randn(64, 200)", "8.0 * torch.randint(-9, 9, (64, 200)) + 0.25 * torch.rand(64, 200)")
    found = judge(ANSWER.replace("RESULT", ROUGHER), problem_text=few_bits.replace("ACCURATE", "False"))
    assert found.category is Category.DEGENERATE_PROBLEM, found.message
    (first,) = found.evidence.rounds[0].outputs
    assert first.reference_error is not None and first.reference_error < 0.01


@slow
def test_the_tolerance_follows_the_largest_error_of_the_reference_so_far(judge: Judge) -> None:
    """Its error in one draw is a matter of chance."""
    found = judge(ANSWER.replace("RESULT", "(x + shift) - shift"), problem_text=PROBLEM.replace("1e5 if ACCURATE else 1e8", "1e3"))
    assert found.category is Category.NO_CUSTOM_KERNEL, found.message
    own = [each.outputs[0] for each in found.evidence.rounds if each.distribution == "own"]
    errors = list(accumulate((figures.reference_error or 0.0 for figures in own), max))
    assert len({figures.reference_error for figures in own}) > 1
    assert [figures.tolerance for figures in own] == [pytest.approx(8 * error) for error in errors]


TWO = "(x + shift) - shift, x * 2"


@pytest.mark.parametrize(
    ("result", "told", "category"),
    [
        pytest.param(ROUGHER, {"accurate": "True"}, Category.WRONG_VALUES, id="the reference always keeps a digit"),
        pytest.param("x[:, 1:]", {}, Category.WRONG_SHAPE, id="shape"),
        pytest.param("(x * 1, x + x)", {"reference": TWO}, Category.DEGENERATE_PROBLEM, id="right beside an uncertain output", marks=slow),
        pytest.param("(x * 1, x * 3)", {"reference": TWO}, Category.WRONG_VALUES, id="wrong beside an uncertain output"),
        pytest.param(
            "(x * 1, x * (next(factors) // 10))", {"reference": TWO}, Category.NONDETERMINISTIC, id="wrong in every second call beside one"
        ),
    ],
)
def test_other_mistakes_stay_mistakes(judge: Judge, result: str, told: dict[str, str], category: Category) -> None:
    found = judged(judge, result, **told)
    assert found.category is category, found.message


CANCELLING = """
import torch
from torch import nn

ASSAY = {"inputs": "any"}


class Model(nn.Module):
    def forward(self, x):
        return x.relu(), (x * x).mean(1) - x.mean(1) ** 2


def get_inputs():
    return [torch.randn(61, 771)]


def get_init_inputs():
    return []
"""


@slow
@pytest.mark.parametrize(("beyond", "category"), [("x.relu()", Category.NO_CUSTOM_KERNEL), ("x * 0 - 7", Category.WRONG_VALUES)])
def test_an_output_is_not_excused_by_another_one_that_cancels(judge: Judge, beyond: str, category: Category) -> None:
    """Where 100 is added to all inputs, the reference's variance is inaccurate, and what it gives for them otherwise is not."""
    answer = f"return torch.where(x.mean(1, keepdim=True) > 50, {beyond}, x.relu()), x.var(1, correction=0)"
    found = judge(forward(answer), problem_text=CANCELLING)
    assert found.category is category, found.message
    left_out = {each.distribution for each in found.evidence.rounds if each.left_out is LeftOutBy.INACCURATE}
    assert ("shifted" in left_out) is (category is Category.NO_CUSTOM_KERNEL)


GATES = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, a, b):
        return torch.zeros_like(x).scatter(1, ((x + a) + b).argmax(1, keepdim=True), 1.0)


def get_inputs():
    x = torch.randn(448, 64).clamp(max=0.9) + torch.eye(64).repeat(7, 1) * 4
    a, b = torch.zeros(448, 64), torch.zeros(448, 64)
    x[:4] = 0.0
    x[:4, :2] = 1.0
    a[:4, 0] = b[:4, 0] = 5.9e-8  # both are lost in float32, and count in float64
    a[:4, 1] = 6.5e-8
    return [x, a, b]


def get_init_inputs():
    return []
"""


@slow
def test_a_few_elements_that_depend_on_rounding_cost_no_rank(judge: Judge) -> None:
    chosen = "nn.functional.one_hot(((x + a) + b).argmax(1), 64).float()"
    answer = ANSWER.replace("self, x, shift", "self, x, a, b").replace("RESULT", chosen)
    found = judge(answer, problem_text=GATES)
    assert found.category is Category.NO_CUSTOM_KERNEL, found.message
    assert found.evidence.rounds[0].outputs[0].tolerance > 0.8
