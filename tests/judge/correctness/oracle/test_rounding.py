"""Where an answer hangs on a rounding, honest ones are right, and near ones wrong: each of PROBLEMS, as rounds and timed calls judge it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evaluator.judge import limits
from evaluator.judge.correctness.check import judge_values
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.correctness.outcome import Right, Wrong
from evaluator.judge.correctness.output_structure import form_of
from evaluator.results.distributions import Rule
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


def steep(model: Any, x: torch.Tensor, w: torch.Tensor, factor: float = 1.0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A function that enlarges roundings; with operands of its product in `dtype`."""
    steepness: torch.Tensor = model.steepness * factor
    return (steepness * (x.float().exp().to(dtype).float() @ w.float())).sin().bfloat16()


@pytest.mark.parametrize("steepness", [8.0, 0.01])
def test_changed_inputs_may_enlarge_roundings(monkeypatch: pytest.MonkeyPatch, steepness: float) -> None:
    """One run with other roundings shows that the reference has as many gross errors as an honest answer."""
    runs: list[int] = []
    possible = Oracle.possible

    def counted(*arguments: Any) -> Any:
        runs.append(1)
        return possible(*arguments)

    monkeypatch.setattr(Oracle, "possible", counted)
    monkeypatch.setattr(limits, "MOST_OPERATORS", 1)  # so that few runs are possible
    torch.manual_seed(0)
    model = Reference(steep, {"steepness": torch.tensor(steepness)})
    x, w = torch.randn(64, 128).bfloat16(), torch.randn(128, 64).div(16).bfloat16()
    oracle = Oracle(model, rows_independent=False)
    form = form_of(oracle.observe([x.clone(), w.clone()]))

    def outcome(answer: torch.Tensor) -> Right | Wrong:
        case: Any = SimpleNamespace(rows_independent=False, problem=SimpleNamespace(declaration=SimpleNamespace(tolerance=1.0)))
        runs.clear()
        return judge_values(case, oracle, [x, w], [answer], form, rule=Rule.GROSS)

    assert isinstance(outcome(steep(model, x, w, dtype=torch.bfloat16)), Right)
    assert len(runs) == (steepness > 1.0)
    assert isinstance(outcome(steep(model, x, w, factor=1.1)), Wrong)
    few_wrong = steep(model, x, w)
    few_wrong[0, :2] += few_wrong.float().std() * (steepness < 1.0)
    assert isinstance(outcome(few_wrong), Wrong if steepness < 1.0 else Right)
    few_wrong[0, 0] = torch.nan
    assert isinstance(outcome(few_wrong), Wrong)


def test_flipped_roundings_pay_for_no_garbage() -> None:
    torch.manual_seed(0)
    model = Reference(lambda _, x, w: (x @ w).to(torch.float8_e4m3fn), {})
    x, w = torch.randn(128, 256).bfloat16(), torch.randn(256, 128).div(16).bfloat16()
    oracle = Oracle(model, rows_independent=False)
    form = form_of(oracle.observe([x.clone(), w.clone()]))
    answer = (x @ w).float()
    answer[-8:] = torch.tensor([448.0, 0.0]).repeat(64)
    case: Any = SimpleNamespace(rows_independent=False, problem=SimpleNamespace(declaration=SimpleNamespace(tolerance=1.0)))
    assert isinstance(judge_values(case, oracle, [x, w], [answer.to(torch.float8_e4m3fn)], form, rule=Rule.GROSS), Wrong)
