"""References whose output depends on rounding alone, judged on the CPU from end to end: no value can be called wrong."""

from pathlib import Path

import pytest

from evaluator.results.category import Category
from tests.judge.conftest import Judge

pytestmark = pytest.mark.slow(20)

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


def problem(folder: Path, accurate: str) -> Path:
    """A problem whose reference keeps two digits if this is true, and else none. `next(drawn)` numbers the inputs."""
    path = folder / "shifted.py"
    path.write_text(PROBLEM.replace("ACCURATE", accurate))
    return path


@pytest.mark.parametrize("result", [ROUGHER, ALTERNATING, "x.clone()"])
def test_a_value_is_not_wrong_if_the_reference_keeps_no_digit(judge: Judge, tmp_path: Path, result: str) -> None:
    found = judge(ANSWER.replace("RESULT", result), "shifted", problem_path=problem(tmp_path, "False"))
    assert found.category is Category.DEGENERATE_PROBLEM, found.message
    assert "no answer can be called wrong: the reference differs from its float64 form by" in found.message


def test_other_inputs_are_tried_if_the_reference_is_better_by_chance(judge: Judge, tmp_path: Path) -> None:
    """It is better on every second input: on that of the first round, which finds a wrong answer, in one of two evaluations."""
    by_chance = []
    for parity in (0, 1):
        path = problem(tmp_path, f"next(drawn) % 2 == {parity}")
        found = judge(ANSWER.replace("RESULT", ROUGHER), "shifted", problem_path=path)
        assert found.category is Category.DEGENERATE_PROBLEM, found.message
        (first,) = found.evidence.rounds[0].outputs
        by_chance.append(first.reference_error is not None and first.reference_error < 0.1 and first.max_error > first.tolerance)
    assert sorted(by_chance) == [False, True]


def test_a_value_is_wrong_if_the_reference_always_keeps_a_digit(judge: Judge, tmp_path: Path) -> None:
    found = judge(ANSWER.replace("RESULT", ROUGHER), "shifted", problem_path=problem(tmp_path, "True"))
    assert found.category is Category.WRONG_VALUES, found.message


@pytest.mark.parametrize(
    ("result", "category"),
    [
        ("x[:, 1:]", Category.WRONG_SHAPE),
        ("x.double()", Category.WRONG_DTYPE),
        ("x / 0", Category.NAN_OR_INF),
        ("x.add_(1)", Category.MUTATED_INPUT),
    ],
)
def test_other_mistakes_stay_mistakes(judge: Judge, tmp_path: Path, result: str, category: Category) -> None:
    found = judge(ANSWER.replace("RESULT", result), "shifted", problem_path=problem(tmp_path, "False"))
    assert found.category is category, found.message


def test_a_wrong_output_beside_an_uncertain_one_stays_wrong(judge: Judge, tmp_path: Path) -> None:
    path = problem(tmp_path, "False")
    path.write_text(path.read_text().replace("return (x + shift) - shift", "return (x + shift) - shift, x * 2"))
    right, wrong = (judge(ANSWER.replace("RESULT", f"(x * 1, {second})"), "shifted", problem_path=path) for second in ("x + x", "x * 3"))
    assert right.category is Category.DEGENERATE_PROBLEM, right.message
    assert wrong.category is Category.WRONG_VALUES, wrong.message


GATES = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, a, b):
        return torch.zeros_like(x).scatter(1, ((x + a) + b).argmax(1, keepdim=True), 1.0)


def get_inputs():
    x = torch.randn(4096, 64).clamp(max=0.9) + torch.eye(64).repeat(64, 1) * 4
    a, b = torch.zeros(4096, 64), torch.zeros(4096, 64)
    x[:4] = 0.0
    x[:4, :2] = 1.0
    a[:4, 0] = b[:4, 0] = 5.9e-8  # both are lost in float32, and count in float64
    a[:4, 1] = 6.5e-8
    return [x, a, b]


def get_init_inputs():
    return []
"""


def test_a_few_elements_that_depend_on_rounding_cost_no_rank(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "gates.py"
    path.write_text(GATES)
    chosen = "nn.functional.one_hot(((x + a) + b).argmax(1), 64).float()"
    answer = ANSWER.replace("self, x, shift", "self, x, a, b").replace("RESULT", chosen)
    found = judge(answer, "gates", problem_path=path)
    assert found.category is Category.NO_CUSTOM_KERNEL, found.message
    assert found.evidence.rounds[0].outputs[0].tolerance > 0.8
