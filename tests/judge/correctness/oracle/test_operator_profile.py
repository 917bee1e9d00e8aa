"""How many terms a reference's longest sum has."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from evaluator.judge.correctness.oracle.operator_profile import profile
from evaluator.judge.correctness.oracle.reference import Oracle

CALLS: dict[str, tuple[Callable[[torch.Tensor], object], int]] = {
    "element by element": (lambda x: torch.relu(x) * 2 + 1, 1),
    "a matrix product": (lambda x: x @ x.t(), 500),
    "a batch of products": (lambda x: x.view(2, 20, 500) @ x.view(2, 500, 20), 500),
    "an einsum": (lambda x: torch.einsum("ij,kj->ik", x, x), 500),
    "a convolution": (lambda x: functional.conv2d(x.view(1, 20, 25, 40), torch.ones(8, 20, 3, 3)), 180),
    "a grouped convolution": (lambda x: functional.conv2d(x.view(1, 20, 25, 40), torch.ones(20, 1, 3, 3), groups=20), 9),
    "a sum of everything": (lambda x: x.sum(), 20_000),
    "a mean of rows": (lambda x: x.mean(1), 500),
    "a variance": (lambda x: x.var(1), 500),
    "a norm": (lambda x: x.norm(), 20_000),
    "a softmax": (lambda x: x.softmax(1), 500),
    "a softmax over columns": (lambda x: x.softmax(0), 40),
    "a cumulative sum": (lambda x: x.cumsum(1), 500),
    "a layer norm": (lambda x: functional.layer_norm(x, (500,)), 500),
    "a batch norm": (lambda x: functional.batch_norm(x, None, None, training=True), 40),
    "two in a row": (lambda x: (x @ x.t()).sum(), 1600),
    "an integer answer": (lambda x: x.argmax(1), 1),
    "no tensor": (lambda x: float(x.dim()), 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_terms_follow_from_operators_and_sizes(name: str) -> None:
    call, terms = CALLS[name]
    x = torch.randn(40, 500)
    with torch.no_grad():
        found, returned = profile(lambda: call(x))
    if name in ("a norm", "two in a row"):
        assert found.terms >= terms / 2
    else:
        assert found.terms == terms
    assert returned is not None


def test_operators_that_assert_on_a_gpu_are_known() -> None:
    x = torch.rand(4, 5)
    assert profile(lambda: functional.binary_cross_entropy(x, x))[0].asserts
    assert not profile(lambda: functional.binary_cross_entropy_with_logits(x, x))[0].asserts


def test_the_oracle_knows_once_it_has_observed_a_call() -> None:
    oracle = Oracle(nn.Linear(300, 5).eval(), rows_independent=False)
    assert oracle.terms == 1
    x = torch.randn(4, 300)
    answer = oracle.observe([x])
    assert torch.equal(answer, oracle.expected([x]))
    assert oracle.terms == 300


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: torch.arange(10.0)[(x * 9).long()], True),
        (lambda x: nn.functional.embedding((x * 9).int(), torch.rand(10, 3)), True),
        (lambda x: (x * 9).long(), False),
        (lambda x: x[torch.tensor([0, 1])], False),
        (lambda x: x[x > 0.5], False),
    ],
)
def test_numbers_that_become_positions_may_break_a_gpus_context(call: Callable[[torch.Tensor], torch.Tensor], expected: bool) -> None:
    found, _ = profile(lambda: call(torch.rand(20)))
    assert found.asserts is expected
