"""Changes to few values of a draw."""

import pytest
import torch

from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.few_rows import (
    LONGEST_RUN,
    MOST_ROWS,
    RUNS_OF_EACH,
    with_changed_runs,
    with_smaller_rows,
)
from evaluator.judge.correctness.inputs.input_structure import InputStructure, Kind, Relation, Tie


@pytest.mark.parametrize("shape", [(4096, 128), (64, 32, 16, 16), (8192,), (3, 512)])
def test_few_rows_are_smaller_and_none_is_larger(shape: tuple[int, ...]) -> None:
    drawn = torch.rand(shape) + 1  # no zeros
    changed = with_smaller_rows(Draw(1, [drawn.clone()]), 7)
    ratio = changed.arguments[0] / drawn
    assert changed.is_few
    assert float(ratio.max()) <= 1.0 and 0.0 < float(ratio.min()) <= 0.88, "rows of several kinds may meet"
    assert 0.0 < float((ratio < 1).float().mean()) < 0.35
    assert torch.equal(with_smaller_rows(Draw(2, [drawn.clone()]), 7).arguments[0], changed.arguments[0]), "the seed decides"


def test_rows_of_each_kind_are_changed() -> None:
    ratio = with_smaller_rows(Draw(1, [torch.ones(64, 256)]), 3).arguments[0]
    assert bool((ratio < 1).all(1).any()), "a row of dimension 0"
    assert bool((ratio < 1).all(0).any()), "a column"


def test_rows_of_dimension_0_are_told() -> None:
    changed = with_smaller_rows(Draw(1, [torch.ones(1000, 7)]), 3)
    assert changed.changed_rows == tuple((changed.arguments[0] < 1).all(1).nonzero().flatten().tolist())
    assert len(changed.changed_rows) <= MOST_ROWS


def test_a_few_runs_have_other_signs() -> None:
    drawn = torch.rand(512, 8192) + 1
    changed = with_changed_runs(Draw(1, [drawn.clone()]), 5).arguments[0]
    wrong = (changed != drawn).view(-1)
    assert 0 < int(wrong.sum()) <= RUNS_OF_EACH * LONGEST_RUN
    assert torch.equal(changed.view(-1)[wrong], -drawn.view(-1)[wrong])


def test_indices_of_dimension_0_that_runs_are_in_are_told() -> None:
    drawn = torch.rand(1000, 300) + 1
    once = with_changed_runs(Draw(1, [drawn.clone()]), 5)
    assert once.changed_rows == tuple((once.arguments[0] != drawn).any(1).nonzero().flatten().tolist())
    twice = with_changed_runs(once, 6)
    assert set(once.changed_rows) < set(twice.changed_rows)


def test_positive_inputs_stay_positive() -> None:
    structure = InputStructure((Kind.POSITIVE,))
    for change in (with_smaller_rows, with_changed_runs):
        changed = change(Draw(1, [torch.ones(64, 64)]), 5, structure).arguments[0]
        assert float(changed.min()) > 0.0 and not torch.equal(changed, torch.ones(64, 64))


@pytest.mark.parametrize(
    ("tensor", "structure"),
    [
        (torch.ones(64, 64), InputStructure((Kind.FIXED,))),
        (torch.ones(64, 64), InputStructure((Kind.SORTED,))),
        (torch.ones(64, 64), InputStructure((Kind.SYMMETRIC,))),
        (torch.ones(64, 64, dtype=torch.int64), None),
        (torch.ones(()), None),
        (torch.ones(0, 64), None),
    ],
)
def test_what_may_not_be_multiplied_stays(tensor: torch.Tensor, structure: InputStructure | None) -> None:
    for change in (with_smaller_rows, with_changed_runs):
        changed = change(Draw(1, [tensor.clone()]), 5, structure)
        assert torch.equal(changed.arguments[0], tensor) and not changed.is_few


def test_inputs_that_depend_on_each_other_stay() -> None:
    structure = InputStructure((Kind.FREE, Kind.FREE, Kind.FREE), (Tie(1, 0, Relation.EQUAL),))
    first, second, third = with_smaller_rows(Draw(1, [torch.ones(64, 64) for _ in range(3)]), 5, structure).arguments
    assert torch.equal(first, second) and torch.equal(first, torch.ones(64, 64)) and not torch.equal(third, first)


def test_of_few_rows_none_is_changed() -> None:
    assert torch.equal(with_smaller_rows(Draw(1, [torch.ones(4, 4)]), 5).arguments[0], torch.ones(4, 4))
