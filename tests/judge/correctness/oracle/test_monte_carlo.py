"""Monte Carlo arithmetic: results that round move by a unit, exact ones stay, and equal or nearly equal values change places."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from evaluator.judge import limits
from evaluator.judge.correctness.compare import Doubts
from evaluator.judge.correctness.oracle.monte_carlo import possible, product_dtype_of
from evaluator.judge.correctness.oracle.rounding import _all_taken
from tests.judge.correctness.oracle.rounded_problems import Reference

RUNS = 20


def runs(function: Callable[..., Any], *inputs: torch.Tensor, count: int = RUNS, narrow: torch.dtype | None = None) -> torch.Tensor:
    """The first output of so many runs."""
    generator = torch.Generator().manual_seed(0)
    model = Reference(lambda _, *given: function(*given), {})
    return torch.stack([possible(model, [value.clone() for value in inputs], generator, narrow)[0] for _ in range(count)])


@pytest.mark.parametrize(
    "exact",
    [
        lambda x: x.relu(),
        lambda x: x.abs().amax(1),
        lambda x: x * 2,
        lambda x: x.round(),
        lambda x: torch.where(x > 0.5, x, -x),
        lambda x: torch.cat((x, x.flip(1)), 1)[:, ::3],
        lambda x: (x > 0).sum(1),
        lambda x: (x * 4).to(torch.int8),
        lambda x: x.half().float(),
        lambda x: x.view(torch.int32) >> 3,
        lambda x: (x > 0).float().sum(1),
    ],
)
def test_exact_results_stay(exact: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.randn(8, 100)
    assert all(torch.equal(run, exact(x)) for run in runs(exact, x))


@pytest.mark.parametrize(("dtype", "unit"), [(torch.float32, 2**-23), (torch.float16, 2**-10), (torch.bfloat16, 2**-7)])
def test_a_rounded_result_moves_by_up_to_a_unit_of_its_type(dtype: torch.dtype, unit: float) -> None:
    x = (torch.rand(1000) + 1).to(dtype)
    found = runs(lambda x: x * 1.1, x)
    assert found.dtype is dtype
    error = (found.double() / (x.double() * 1.1) - 1).abs()
    assert 0.3 * unit < float(error.max()) < 2.5 * unit
    assert float((found != found[0]).any(0).double().mean()) > 0.3


@pytest.mark.parametrize(("dtype", "unit"), [(torch.float32, 2**-23), (torch.float16, 2**-10), (torch.bfloat16, 2**-7)])
def test_products_may_round_their_operands_to_the_inputs_sixteen_bits(dtype: torch.dtype, unit: float) -> None:
    """As tensor cores do. Operands that have so few bits stay, and so do addends and all others' operands."""
    narrow = None if dtype is torch.float32 else dtype
    x = (torch.rand(200, 1) + 1).to(dtype)
    other_operand = torch.tensor([[0.75]])
    error = (runs(lambda x: (x.float() * 1.1) @ other_operand, x, narrow=narrow).double() / (x.double() * 1.1 * 0.75) - 1).abs()
    assert 0.3 * unit < float(error.max()) < 0.5 * unit + 4 * 2**-23
    others: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda x: x.float() @ other_operand,
        lambda x: x.float() * 1.1,
        lambda x: torch.addmm(x.float() * 1.1, torch.ones(200, 1), other_operand),
        lambda x: torch.conv1d(torch.ones(1, 1, 8), torch.ones(200, 1, 1), x.float()[:, 0] * 1.1),
    ]
    for other in others:
        right = other(x).double()
        assert float((runs(other, x, narrow=narrow).double() / right - 1).abs().max()) < 4 * 2**-23


def test_operands_keep_their_digits_where_an_input_or_an_output_shows_that_they_count() -> None:
    wide, narrow, whole = torch.ones(3), torch.ones(3).bfloat16(), torch.ones(3).int()
    assert product_dtype_of([wide, {"x": narrow}], [narrow, whole]) is torch.bfloat16
    assert product_dtype_of([narrow.half(), narrow], [narrow]) is torch.bfloat16
    assert product_dtype_of([wide, whole], [narrow]) is product_dtype_of([narrow], [narrow, wide]) is None


def test_values_near_an_edge_fall_to_either_side() -> None:
    x = torch.full((100,), 0.3)
    found = runs(lambda x: torch.floor(x / 0.1).long(), x)
    assert set(found.flatten().tolist()) == {2, 3}
    inside = torch.full((100,), 0.35)
    assert set(runs(lambda x: torch.floor(x / 0.1).long(), inside).flatten().tolist()) == {3}


def test_equal_values_change_places_and_others_don_t() -> None:
    x = torch.tensor([[1.0, 3.0, 2.0, 3.0], [1.0, 3.0, 2.0, 3.1]]).bfloat16()
    found = runs(lambda x: x.argmax(1), x)
    assert set(found[:, 0].tolist()) == {1, 3} and set(found[:, 1].tolist()) == {3}


def test_edges_of_bins_are_as_near_as_the_first_edge_lets_them_be() -> None:
    x, edges = torch.full((100,), 1e-8), torch.linspace(-3, 3, 7)
    assert set(runs(lambda x: torch.bucketize(x, edges), x).flatten().tolist()) == {3, 4}


def test_operators_in_place_move_what_they_write() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x)
        total[:, 1:].add_(x[:, 1:], alpha=0.1)
        return total

    found = runs(forward, torch.rand(4, 50) + 1)
    assert not found[:, :, 0].any()
    assert bool((found[:, :, 1:] != found[0, :, 1:]).any())


def test_the_same_seed_gives_the_same_values() -> None:
    x = torch.rand(100)
    assert torch.equal(runs(torch.exp, x, count=3), runs(torch.exp, x, count=3))


def test_an_operator_without_float64_moves_its_own_result() -> None:
    @torch.library.custom_op("assay_test::fifth", mutates_args=())
    def fifth(x: torch.Tensor) -> torch.Tensor:
        if x.dtype is not torch.float32:
            raise RuntimeError('"fifth" not implemented for Double')
        return x / 5

    x = torch.rand(100) + 1
    found = runs(fifth, x)
    assert torch.allclose(found, (x / 5).expand(RUNS, 100), rtol=4e-7) and not torch.equal(found[0], found[1])


def test_the_longest_references_are_not_rounded_otherwise_for_ever() -> None:
    """A reference that loops over positions gets few runs."""
    runs: list[int] = []

    class Looping:
        operators = 100_000

        def possible(self, *_: object) -> tuple[list[torch.Tensor], None]:
            runs.append(1)
            return [torch.zeros(8, 8)], None

    doubts = Doubts(torch.arange(3), torch.ones(3), torch.full((3,), 0.1), torch.zeros(3), torch.zeros(3))
    oracle: Any = Looping()
    assert not _all_taken(oracle, [], [torch.zeros(8, 8)], {0: doubts}, torch.Generator())
    assert len(runs) == limits.LEAST_RUNS
