"""Integers that hang on less than the inputs' precision."""

import pytest
import torch
from torch import nn

from evaluator.judge.correctness import reference as oracle_module
from evaluator.judge.correctness.integer_ties import is_excused
from evaluator.judge.correctness.reference import Oracle

ROWS, COLUMNS = 50, 40


class Sorted(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = torch.topk(x, 30, dim=1)
        return values, indices


def inputs_with_a_tie() -> torch.Tensor:
    """Values without ties but for one: in row 7, columns 3 and 11 hold its second largest."""
    x = torch.stack([torch.randperm(COLUMNS, generator=torch.Generator().manual_seed(row)) for row in range(ROWS)]).float()
    x[7, [3, 11]] = COLUMNS + 1.0
    x[7, 5] = COLUMNS + 2.0
    return x


def excused(change: str) -> bool:
    x = inputs_with_a_tie()
    reference = list(Sorted()(x))
    candidate = [tensor.clone() for tensor in reference]
    indices = candidate[1]
    assert set(indices[7, 1:3].tolist()) == {3, 11}
    if change == "other order":
        indices[7, 1:3] = indices[7, 1:3].flip(0)
    elif change == "one of them twice":
        indices[7, 2] = indices[7, 1]
    elif change == "no tie":
        indices[8, 1:3] = indices[8, 1:3].flip(0)
    elif change == "everything":
        indices += 1
    return is_excused(Oracle(Sorted(), rows_independent=True), [x], candidate, 1, seed=1, by_line=True)


@pytest.mark.parametrize("chunk", [1, 200, 1 << 20])
@pytest.mark.parametrize(
    ("change", "expected"), [("other order", True), ("one of them twice", False), ("no tie", False), ("everything", False), ("", True)]
)
def test_equal_values_may_come_in_either_order(monkeypatch: pytest.MonkeyPatch, change: str, expected: bool, chunk: int) -> None:
    monkeypatch.setattr(oracle_module, "CHUNK_ELEMENTS", chunk)
    assert excused(change) is expected


class Rounded(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 3).floor().long()


@pytest.mark.parametrize(("wrong_by", "expected"), [(-1, True), (1, False), (-2, False)])
def test_what_hangs_on_rounding_may_fall_to_either_side(wrong_by: int, expected: bool) -> None:
    x = torch.arange(3000.0) + 0.5
    x[100] = 7.0  # three times seven, or just below
    reference = [Rounded()(x)]
    candidate = [reference[0].clone()]
    candidate[0][100] += wrong_by
    assert is_excused(Oracle(Rounded(), rows_independent=False), [x], candidate, 0, seed=1, by_line=False) is expected


class Largest(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.argmax(1)


@pytest.mark.parametrize("value", [0.0, 3.0, -3.0])
def test_all_of_a_row_may_be_equal(value: float) -> None:
    x = torch.arange(800.0).view(100, 8)
    x[4] = value
    reference = [Largest()(x)]
    candidate = [reference[0].clone()]
    candidate[0][4] = 6
    assert is_excused(Oracle(Largest(), rows_independent=True), [x], candidate, 0, seed=1, by_line=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_neighbouring_numbers_are_not_equal(dtype: torch.dtype) -> None:
    x = torch.arange(800.0, dtype=torch.float32).view(100, 8).to(dtype) / 1024
    x[4] = 0.5
    x[4, 2] = 2 - 2 * torch.finfo(dtype).eps
    x[4, 6] = 2 - torch.finfo(dtype).eps
    reference = [Largest()(x)]
    candidate = [reference[0].clone()]
    candidate[0][4] = 2
    assert not is_excused(Oracle(Largest(), rows_independent=True), [x], candidate, 0, seed=1, by_line=False)


class LargestOfLines(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.argmax(2)


def lines_of_ties() -> torch.Tensor:
    """Three matrices of 300 lines; in 15 lines of one matrix, two elements are the largest."""
    x = torch.rand(3, 300, 8, generator=torch.Generator().manual_seed(1))
    x[1, ::20, [2]] = x[1, ::20, [6]] = 2.0
    return x


@pytest.mark.parametrize(("by_line", "expected"), [(False, True), (True, False)])
def test_of_places_each_may_be_another_but_not_a_whole_order(by_line: bool, expected: bool) -> None:
    """All of 15 ties at once fall as the candidate has them in none of some runs."""
    x = lines_of_ties()
    candidate = LargestOfLines()(x)
    candidate[1, ::40] = 6
    assert int((candidate != LargestOfLines()(x)).sum()) == 8
    found = is_excused(Oracle(LargestOfLines(), rows_independent=False), [x], [candidate], 0, seed=1, by_line=by_line)
    assert found is expected
    candidate[1, 20] = 3
    assert not is_excused(Oracle(LargestOfLines(), rows_independent=False), [x], [candidate], 0, seed=1, by_line=by_line)
