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
from evaluator.judge.correctness.inputs.input_distributions import DISTRIBUTIONS, changed
from evaluator.judge.correctness.reference import Oracle
from evaluator.judge.problem_check.check import check_case
from evaluator.problem.catalogue import discover
from evaluator.problem.declaration import PrecisionName
from evaluator.problem.load import load
from evaluator.problem.problem import Problem, ProblemCase

pytestmark = pytest.mark.slow(20)

CPU = torch.device("cpu")
INNER = {
    "attention": {"batch_size": 1, "heads": 4},
    "causal_attention": {"batch_size": 2},
    "decode_attention": {"batch_size": 4},
    "linear_gelu": {"rows": 64},
    "moe": {"tokens": 64, "experts": 6},
    "paged_attention": {"batch_size": 2},
    "rms_norm_fp8": {"rows": 64},
    "rope_qk_norm": {"tokens": 64},
    "swiglu_mlp": {"rows": 64},
    "tensor_parallel_mlp": {"ranks": 2, "rows": 32},
    "w4a16_matmul": {"columns": 256},
}
"""What of each problem's full case is made smaller: rows, which are independent, and nothing that is summed over."""
ELSEWHERE = [("attention", "bfloat16"), ("causal_attention", "bfloat16"), ("swiglu_mlp", "float16"), ("matmul", "bfloat16")]
"""Problems in other precisions than their own."""
SMALLER = {**INNER, "matmul": {"rows": 64}}


def with_constants(problem: Problem, constants: dict[str, Any], **declared: Any) -> ProblemCase:
    """The problem's full case with other constants, and what else is declared."""
    update = {"cases": {**problem.declaration.cases, "full": constants}, **declared}
    return replace(problem, declaration=problem.declaration.model_copy(update=update)).instance("full")


def test_every_shipped_problem_in_half_precision_is_among_these() -> None:
    half = {name for name, path in discover().items() if load(path).declaration.dtype in ("float16", "bfloat16")}
    assert half == set(INNER)


@pytest.mark.parametrize(("name", "precision"), [*((name, None) for name in INNER), *ELSEWHERE])
def test_no_problem_in_half_precision_accepts_float8_at_its_full_inner_sizes(name: str, precision: PrecisionName | None) -> None:
    problem = load(discover()[name]).in_precision(precision)
    # By the problem's own draws alone: in those, which are the first, the reference's errors are at their largest.
    others = {each: "not needed here" for each in DISTRIBUTIONS if each != "own"}
    checked = check_case(with_constants(problem, SMALLER[name], without=others), CPU)
    assert checked.admitted, checked.findings


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


def fused_gate(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    gate, up, down = (parameter.float() for parameter in model.parameters())
    hidden = (nn.functional.silu(x.float() @ gate.T) * (x.float() @ up.T)).to(x.dtype)
    return (hidden.float() @ down.T).to(x.dtype)


@pytest.mark.parametrize(
    ("name", "precision", "answer"),
    [
        ("causal_attention", None, rounded_scores),
        ("causal_attention", None, rounded_probabilities),
        ("causal_attention", None, deferred_division),
        ("causal_attention", "bfloat16", rounded_probabilities),
        ("causal_attention", "bfloat16", deferred_division),
        ("swiglu_mlp", None, rounded_products),
        ("swiglu_mlp", None, fused_gate),
    ],
)
def test_what_rounds_as_often_as_the_reference_passes(
    name: str, precision: PrecisionName | None, answer: Callable[..., torch.Tensor]
) -> None:
    fewer = {"heads": 4} if name == "causal_attention" else {}
    case = with_constants(load(discover()[name]).in_precision(precision), {**SMALLER[name], **fewer})
    model = case.model(1)
    oracle = Oracle(model, case.rows_independent)
    with torch.no_grad():
        for distribution in ("own", "wide"):
            inputs = changed(case.inputs(2, CPU), distribution, 2)
            judged = judge_values(case, oracle, inputs, [answer(model, *inputs)], oracle.expected(inputs))
            assert judged.category is None, (distribution, judged.message)
            assert judged.informative
