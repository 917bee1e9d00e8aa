"""References whose output depends on rounding alone, judged on the CPU from end to end: no value can be called wrong."""

import pytest

from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.judge.conftest import Judge

PROBLEM = """
import itertools

import torch
from torch import nn

drawn = itertools.count()


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
ROUGHER = "(x + 40 * shift) - 40 * shift"
ALTERNATING = "(x + (far := shift * next(factors))) - far"


def judged(judge: Judge, result: str, accurate: str = "False", reference: str = "(x + shift) - shift") -> Result:
    """Judge an answer of this `result`. The reference keeps two digits if `accurate`, and else none; `next(drawn)` numbers the inputs."""
    text = PROBLEM.replace("ACCURATE", accurate).replace("(x + shift) - shift", reference)
    return judge(ANSWER.replace("RESULT", result), problem_text=text)


@pytest.mark.parametrize("result", [ROUGHER, ALTERNATING, "x.clone()"])
def test_a_value_is_not_wrong_if_the_reference_keeps_no_digit(judge: Judge, result: str) -> None:
    found = judged(judge, result)
    assert found.category is Category.DEGENERATE_PROBLEM, found.message
    assert "no answer can be called wrong: the reference differs from its float64 form by" in found.message


def test_other_inputs_are_tried_if_the_reference_is_better_by_chance(judge: Judge) -> None:
    """It is better on every second input: on that of the first round, which finds a wrong answer, in one of two evaluations."""
    by_chance = []
    for parity in (0, 1):
        found = judged(judge, ROUGHER, f"next(drawn) % 2 == {parity}")
        assert found.category is Category.DEGENERATE_PROBLEM, found.message
        (first,) = found.evidence.rounds[0].outputs
        by_chance.append(first.reference_error is not None and first.reference_error < 0.1 and first.max_error > first.tolerance)
    assert sorted(by_chance) == [False, True]


TWO = "(x + shift) - shift, x * 2"


@pytest.mark.parametrize(
    ("result", "told", "category"),
    [
        pytest.param(ROUGHER, {"accurate": "True"}, Category.WRONG_VALUES, id="the reference always keeps a digit"),
        pytest.param("x[:, 1:]", {}, Category.WRONG_SHAPE, id="shape"),
        pytest.param("x.double()", {}, Category.WRONG_DTYPE, id="dtype"),
        pytest.param("x / 0", {}, Category.NAN_OR_INF, id="infinite"),
        pytest.param("x.add_(1)", {}, Category.MUTATED_INPUT, id="changed input"),
        pytest.param("(x * 1, x + x)", {"reference": TWO}, Category.DEGENERATE_PROBLEM, id="right beside an uncertain output"),
        pytest.param("(x * 1, x * 3)", {"reference": TWO}, Category.WRONG_VALUES, id="wrong beside an uncertain output"),
    ],
)
def test_other_mistakes_stay_mistakes(judge: Judge, result: str, told: dict[str, str], category: Category) -> None:
    found = judged(judge, result, **told)
    assert found.category is category, found.message


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


def test_a_few_elements_that_depend_on_rounding_cost_no_rank(judge: Judge) -> None:
    chosen = "nn.functional.one_hot(((x + a) + b).argmax(1), 64).float()"
    answer = ANSWER.replace("self, x, shift", "self, x, a, b").replace("RESULT", chosen)
    found = judge(answer, problem_text=GATES)
    assert found.category is Category.NO_CUSTOM_KERNEL, found.message
    assert found.evidence.rounds[0].outputs[0].tolerance > 0.8
