"""Errors that decide where only gross ones do, checked by figures computed by hand."""

import math

import pytest
import torch

from evaluator.judge.correctness.compare import Comparison, OutputPiece, Rules
from evaluator.results.category import Category
from evaluator.results.distributions import Rule
from evaluator.results.evidence import ErrorFigures

F64 = torch.float64


def gross(candidate: torch.Tensor, oracle: torch.Tensor, *, rows: bool = False, pieces: int = 1) -> tuple[Category | None, ErrorFigures]:
    """The category (None where it passed) and the figures; `pieces` splits an output, which may have no row scales."""
    comparison = Comparison("", candidate.shape, candidate.dtype, Rules(rows, rule=Rule.GROSS))
    reference = oracle.to(candidate.dtype)
    step = -(-len(candidate) // pieces) if candidate.dim() else 1
    parts = [OutputPiece(0, candidate, reference, oracle)]
    if pieces > 1:
        starts = range(0, len(candidate), step)
        parts = [OutputPiece(start, *(tensor[start : start + step] for tensor in (candidate, reference, oracle))) for start in starts]
        for part in parts:
            comparison.weigh(part.oracle)
    for part in parts:
        comparison.measure(part)
    if comparison.needs_location:
        for part in parts:
            comparison.locate(part)
    return None if comparison.passed else comparison.category, comparison.figures()


def test_gross_errors_by_hand() -> None:
    # The mean of (9, 10, 11, 10) is 10, their spread 0.5**0.5: 11 is 1 from the mean.
    oracle = torch.tensor([9.0, 10.0, 11.0, 10.0], dtype=F64)
    category, figures = gross(torch.tensor([9.0, 10.0, 11.06, 10.0]), oracle)
    assert (category, figures.wrong, figures.first_index) == (Category.WRONG_VALUES, 1, (2,))
    assert figures.gross_error == pytest.approx(0.06 / (1 + math.sqrt(0.5)), rel=1e-4)
    category, figures = gross(torch.tensor([9.0, 10.0, 11.05, 10.0]), oracle)
    assert (category, figures.wrong, figures.beyond) == (None, 0, 1)
    assert figures.gross_error == pytest.approx(0.05 / (1 + math.sqrt(0.5)), rel=1e-4)


def test_what_is_within_the_tolerance_is_not_gross_however_close_the_right_values_are() -> None:
    oracle = 1000 + 1e-4 * torch.rand(50, 20, dtype=F64)
    category, figures = gross(torch.full((50, 20), 1000.0), oracle)
    assert (category, figures.beyond, figures.gross_error) == (None, 0, None)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("pieces", [1, 3])
def test_trivial_answers_are_grossly_wrong(rows: bool, pieces: int) -> None:
    oracle = torch.rand(60, 50, dtype=F64, generator=torch.Generator().manual_seed(3)) + 10
    right = oracle.float()
    assert gross(right, oracle, rows=rows, pieces=pieces)[0] is None
    category, figures = gross(right + 0.01 * (torch.rand(60, 50) - 0.5), oracle, rows=rows, pieces=pieces)
    assert category is None and figures.beyond > figures.elements / 2
    for answer in (torch.zeros_like(right), torch.full_like(right, float(right.mean())), right.roll(1, 1), right.flip(0), -right):
        category, figures = gross(answer.contiguous(), oracle, rows=rows, pieces=pieces)
        assert category is not None and figures.wrong > figures.elements / 2


@pytest.mark.parametrize("place", [(0, 0), (17, 3), (59, 49)])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_gross(value: float, place: tuple[int, int]) -> None:
    oracle = torch.rand(60, 50, dtype=F64, generator=torch.Generator().manual_seed(3))
    candidate = oracle.float()
    candidate[place] = value
    for pieces in (1, 4):
        category, figures = gross(candidate, oracle, pieces=pieces)
        assert (category, figures.wrong, figures.first_index) == (Category.NAN_OR_INF, 1, place)
    assert gross(candidate, torch.where(candidate.isfinite(), oracle, candidate.double()))[0] is None


def test_a_lone_number_is_held_against_its_own_size() -> None:
    oracle = torch.tensor(5.0, dtype=F64)
    assert gross(torch.tensor(5.1), oracle)[0] is None
    assert gross(torch.tensor(5.2), oracle)[0] is Category.WRONG_VALUES
    assert gross(torch.tensor(0.0), oracle)[0] is Category.WRONG_VALUES
    assert gross(torch.tensor(0.0), torch.tensor(0.0, dtype=F64))[0] is None


def test_integers_are_exact_there_too() -> None:
    oracle = torch.arange(50)
    category, figures = gross(oracle + (oracle == 7), oracle)
    assert (category, figures.wrong, figures.gross_error) == (Category.WRONG_VALUES, 1, None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_slices_that_have_been_weighed_are_judged_on_the_scale_of_the_whole(dtype: torch.dtype) -> None:
    oracle = torch.randn(60, 50, dtype=torch.complex128 if dtype.is_complex else F64, generator=torch.Generator().manual_seed(3))
    oracle[:20] *= 1e-3  # whose own scale is another
    candidate = oracle.to(dtype)
    candidate[5, 6] += 1e-3
    candidate[41, 3] += 1e-3
    (whole, figures), (sliced, parts) = gross(candidate, oracle), gross(candidate, oracle, pieces=4)
    assert whole is sliced is None and figures.beyond == parts.beyond == 2
    assert parts.max_error == pytest.approx(figures.max_error) and parts.gross_error == pytest.approx(figures.gross_error)
