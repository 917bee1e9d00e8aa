"""The bound in half precision, at the inner sizes of the shipped problems: what rounds as the reference does passes, float8 does not.

The reference's largest error grows with the sizes and with the number of elements, and the bound with it: so small cases don't show this.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from evaluator.judge.correctness.check import judge_values
from evaluator.judge.correctness.inputs.input_distributions import CHANGES, changed
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.correctness.outcome import Right
from evaluator.judge.problem_check.check import trivial_answers_to
from evaluator.problem.catalogue import discover
from evaluator.problem.declaration import PrecisionName
from evaluator.problem.load import load
from evaluator.problem.problem import Problem, ProblemCase
from evaluator.worker.nested import tensors_of

pytestmark = pytest.mark.slow(25)

CPU = torch.device("cpu")
INNER = {
    "attention": {"batch_size": 1, "heads": 2},
    "causal_attention": {"batch_size": 1, "heads": 2},
    "decode_attention": {"batch_size": 1},
    "linear_gelu": {"rows": 64, "columns": 512},
    "moe": {"tokens": 32, "experts": 4},
    "paged_attention": {"batch_size": 1},
    "rms_norm_fp8": {"rows": 32},
    "rope_qk_norm": {"tokens": 64},
    "swiglu_mlp": {"rows": 32},
    "tensor_parallel_mlp": {"ranks": 2, "rows": 16},
    "w4a16_matmul": {"columns": 256},
}
"""What of each problem's full case is made smaller: rows, which are independent, and nothing that is summed over."""
SMALLER = {**INNER, "matmul": {"rows": 64, "columns": 512}}


def with_constants(problem: Problem, constants: dict[str, Any], **declared: Any) -> ProblemCase:
    """The problem's full case with other constants, and what else is declared."""
    update = {"cases": {**problem.declaration.cases, "full": constants}, **declared}
    return replace(problem, declaration=problem.declaration.model_copy(update=update)).instance("full")


def test_every_shipped_problem_in_half_precision_is_among_these() -> None:
    half = {name for name, path in discover().items() if load(path).declaration.dtype in ("float16", "bfloat16")}
    assert half == set(INNER)


def rounded_scores(_: nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention written out in the inputs' type: scores and probabilities are rounded to it."""
    dtype, length = query.dtype, query.size(-2)
    scores = (query.float() @ key.float().mT).to(dtype) * torch.tensor(query.size(-1) ** -0.5, dtype=dtype)
    return weighted(scores.float(), value, length)


def rounded_probabilities(_: nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return weighted(query.float() @ key.float().mT * query.size(-1) ** -0.5, value, query.size(-2))


def weighted(scores: torch.Tensor, value: torch.Tensor, length: int) -> torch.Tensor:
    scores.masked_fill_(torch.ones(length, length, dtype=torch.bool).triu_(1), float("-inf"))
    return (scores.softmax(dim=-1).to(value.dtype).float() @ value.float()).to(value.dtype)


def deferred_division(_: nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention as fused kernels compute it: weights are rounded before they are divided by their sum."""
    scores = query.float() @ key.float().mT * query.size(-1) ** -0.5
    scores.masked_fill_(torch.ones(query.size(-2), query.size(-2), dtype=torch.bool).triu_(1), float("-inf"))
    weights = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    answer: torch.Tensor = weights.to(value.dtype).float() @ value.float() / weights.sum(dim=-1, keepdim=True)
    return answer.to(value.dtype)


def rounded_products(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Three products that accumulate in float32, and rounding after every step."""
    gate, up, down = (parameter.float() for parameter in model.parameters())
    hidden = nn.functional.silu((x.float() @ gate.T).to(x.dtype)) * (x.float() @ up.T).to(x.dtype)
    return (hidden.float() @ down.T).to(x.dtype)


Answer = Callable[..., torch.Tensor]
HONEST: dict[tuple[str, PrecisionName | None], list[Answer]] = {
    ("causal_attention", None): [rounded_scores, deferred_division],
    ("causal_attention", "bfloat16"): [rounded_probabilities, deferred_division],
    ("swiglu_mlp", None): [rounded_products],
}
"""Answers that round as often as the reference."""
CASES: list[tuple[str, PrecisionName | None]] = [
    *((name, None) for name in INNER),
    ("causal_attention", "bfloat16"),
    ("matmul", "bfloat16"),
]
"""Problems in their own precision, and two in another."""


@pytest.mark.parametrize(("name", "precision"), CASES)
def test_what_rounds_as_often_as_the_reference_passes_and_float8_does_not(name: str, precision: PrecisionName | None) -> None:
    # By the problem's own draws alone: in those, which are the first, the reference's errors are at their largest.
    others = dict.fromkeys(CHANGES, "not needed here")
    case = with_constants(load(discover()[name]).in_precision(precision), SMALLER[name], without=others)
    model = case.model(1)
    oracle = Oracle(model, case.rows_independent)
    assert trivial_answers_to(case, oracle, CPU, ["half precision"]) == ()
    honest = HONEST.get((name, precision), [])
    with torch.no_grad():
        for distribution in ("own", "wide") if honest else ("own",):
            inputs = changed(case.inputs(2, CPU), distribution, 2)
            expected = oracle.expected(inputs)
            for answer in honest or [lambda *_, right=expected: right]:
                given = [tensor.clone() for _, tensor in tensors_of(answer(model, *inputs))]
                judged = judge_values(case, oracle, inputs, given, expected)
                assert isinstance(judged, Right) and judged.informative, (distribution, answer, judged)
