"""Where an answer hangs on a rounding, honest ones are right, and near ones wrong: each of PROBLEMS, as rounds and timed calls judge it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evaluator.judge.correctness.check import judge_values
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.correctness.outcome import Right, Wrong
from evaluator.judge.correctness.output_structure import form_of
from evaluator.worker.nested import mapped, tensors_of
from tests.judge.correctness.oracle.rounded_problems import PROBLEMS, Reference

SOON = ("int8 by rows", "ranks", "attention in float16", "overflow of float16")
"""Problems of the quick tests: a rounding, a choice, a product and an overflow."""
EACH = [name if name in SOON else pytest.param(name, marks=pytest.mark.slow(60)) for name in PROBLEMS]
DRAWS = 3
DRAWS_ON_A_GPU = 20


def judged(name: str, answer: Callable[..., Any], device: str, draws: int) -> list[Right | Wrong]:
    """The judgement on an answer for each of so many draws."""
    problem, found = PROBLEMS[name], []
    for seed in range(draws):
        torch.manual_seed(seed)
        model = Reference(problem.reference, {name: draw() for name, draw in problem.parameters}).to(device)
        inputs = [draw().to(device) for draw in problem.draws]
        oracle = Oracle(model, problem.rows_independent)
        form = form_of(oracle.observe([mapped(value, torch.clone) for value in inputs]))
        with torch.no_grad():
            values = [tensor for _, tensor in tensors_of(answer(model, *inputs))]
        declaration = SimpleNamespace(tolerance=1.0)
        case: Any = SimpleNamespace(rows_independent=problem.rows_independent, problem=SimpleNamespace(declaration=declaration))
        found.append(judge_values(case, oracle, inputs, values, form))
    return found


def check(name: str, device: str, draws: int) -> None:
    problem = PROBLEMS[name]
    right = judged(name, problem.honest, device, draws)
    assert [each.message for each in right if isinstance(each, Wrong)] == []
    wrong = judged(name, problem.wrong, device, draws)
    assert [each.figures for each in wrong if isinstance(each, Right)] == []


@pytest.mark.parametrize("name", EACH)
def test_honest_answers_are_right_and_near_ones_wrong(name: str) -> None:
    check(name, "cpu", DRAWS)


@pytest.mark.gpu
@pytest.mark.parametrize("name", PROBLEMS)
def test_honest_answers_are_right_and_near_ones_wrong_on_a_gpu(name: str) -> None:
    check(name, "cuda", DRAWS_ON_A_GPU)


@pytest.mark.parametrize("name", EACH)
def test_the_references_own_answer_is_right(name: str) -> None:
    """Also where the reference's rounding is not the oracle's."""
    assert [each for each in judged(name, PROBLEMS[name].reference, "cpu", DRAWS) if isinstance(each, Wrong)] == []
