"""A few elements of inputs made large."""

import math
from pathlib import Path

import pytest
import torch

from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.few_rows import (
    ENERGY,
    LARGEST_IN,
    LARGEST_OUTLIER,
    OUTLIER_SHARE,
    FewChanges,
    with_changed_runs,
    with_outliers,
    without_outliers,
)
from evaluator.judge.correctness.inputs.input_distributions import CHANGED_TYPES
from evaluator.judge.correctness.inputs.input_structure import InputStructure, Kind
from tests.judge.correctness.plain_problems import plain_case

SEEDS = range(16)
SHAPES = [(512, 1024), (16, 8, 32, 32), (8192,), (3, 512), (1, 4096), (5, 3)]


def outlying(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, Draw]:
    """What was drawn, and the same with outliers."""
    drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    changed = with_outliers(Draw(seed, [drawn.clone()]), seed)
    assert changed.is_few and changed.overwritten
    return drawn, changed


@pytest.mark.parametrize("shape", SHAPES)
def test_few_elements_change_and_keep_their_signs(shape: tuple[int, ...]) -> None:
    for seed in SEEDS:
        drawn, draw = outlying(shape, seed)
        (changed,) = draw.arguments
        assert 0 < int((changed != drawn).sum()) <= math.ceil(drawn.numel() / OUTLIER_SHARE)
        assert torch.equal(changed.sign(), drawn.sign())
        assert float(changed.abs().max()) <= 4 * LARGEST_OUTLIER


def test_some_row_gains_half_of_its_energy_and_more() -> None:
    for seed in SEEDS:
        drawn, draw = outlying((512, 1024), seed)
        (changed,) = draw.arguments
        gains = changed.square().sum(1) / drawn.square().sum(1) - 1
        assert float(gains.max()) >= 0.8 * ENERGY[0] and float(gains.median()) < 3 * ENERGY[1]


def test_no_two_of_a_row_tie() -> None:
    """An index of the maximum would be either's."""
    for seed in SEEDS:
        drawn, draw = outlying((4, 1 << 16), seed)
        (changed,) = draw.arguments
        large = changed[changed != drawn].abs()
        assert len(large.unique()) == len(large)


def test_a_sample_seldom_shows_them() -> None:
    """In more than a third of the changes, each sixteenth element is unchanged."""
    hidden = 0
    for seed in SEEDS:
        drawn, draw = outlying((256, 1024), seed)
        (changed,) = draw.arguments
        hidden += torch.equal(changed.view(-1)[::16], drawn.view(-1)[::16])
    assert hidden > len(SEEDS) / 3


def test_zeros_stay_and_positive_inputs_stay_positive() -> None:
    triangle = torch.randn(256, 256).tril()
    assert torch.equal(with_outliers(Draw(1, [triangle.clone()]), 3).arguments[0] == 0, triangle == 0)
    positive = with_outliers(Draw(1, [torch.rand(64, 64) + 1]), 3, InputStructure((Kind.POSITIVE,))).arguments[0]
    assert float(positive.min()) > 0 and float(positive.max()) > 2


@pytest.mark.parametrize("dtype", LARGEST_IN)
def test_they_fit_into_narrow_types(dtype: torch.dtype) -> None:
    """And so do their squares, in half precision."""
    for seed in SEEDS:
        _, draw = outlying((2, 1 << 18), seed, dtype)
        changed = draw.arguments[0].float()
        assert 8 < float(changed.abs().max()) <= LARGEST_IN[dtype] <= torch.finfo(dtype).max
        assert dtype != torch.float16 or bool(changed.half().square().isfinite().all())


@pytest.mark.parametrize("dtype", CHANGED_TYPES)
def test_they_can_be_removed(dtype: torch.dtype) -> None:
    for seed in SEEDS:
        drawn, changed = outlying((64, 300), seed, dtype)
        assert not torch.equal(changed.arguments[0].double(), drawn.double())
        restored = without_outliers(changed)
        assert torch.equal(restored.arguments[0].double(), drawn.double()) and not restored.overwritten


def test_runs_after_outliers_leave_the_magnitudes() -> None:
    drawn, changed = outlying((64, 300), 1)
    runs = with_changed_runs(changed, 2)
    assert runs.distribution == "runs" and not runs.overwritten
    assert torch.equal(runs.arguments[0].abs(), drawn.abs()) and not torch.equal(runs.arguments[0], drawn)


def test_the_seed_decides() -> None:
    drawn = torch.randn(64, 300)
    one, same, other = (with_outliers(Draw(1, [drawn.clone()]), seed).arguments[0] for seed in (5, 5, 6))
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_rows_of_few_outliers_are_all_told_and_of_many_those_of_64_at_most() -> None:
    told = []
    for seed in SEEDS:
        drawn = [torch.randn(640, 40), torch.randn(640, 200)]
        given = [tensor.clone() for tensor in drawn]
        before_largest = max(float(tensor.abs().max()) for tensor in drawn)
        outliers = with_outliers(Draw(1, given, changed_rows=() if seed % 2 else (0,)), seed)
        large = [tensor.clone() for tensor in outliers.arguments]
        runs = with_changed_runs(outliers, seed)
        for before, after, changed in ((drawn, large, outliers), (large, runs.arguments, runs)):
            rows = {row for pair in zip(before, after, strict=True) for row in (pair[0] != pair[1]).any(1).nonzero().flatten().tolist()}
            assert {*changed.changed_rows} - {0} <= rows | {*outliers.changed_rows}, seed
            assert rows <= {*changed.changed_rows} or len(changed.changed_rows) >= 30, seed
        told.append(len(outliers.changed_rows))
        largest = [int(each.abs().argmax()) // each.shape[1] for each in large if each.abs().max() > 2 * before_largest]
        assert {*largest} <= {*outliers.changed_rows}, seed
    assert min(told) <= 3 and 30 <= max(told) <= 1 + 2 * 64


@pytest.mark.parametrize("kind", [Kind.FIXED, Kind.SORTED, Kind.SYMMETRIC])
def test_what_may_not_be_multiplied_one_by_one_stays(kind: Kind) -> None:
    changed = with_outliers(Draw(1, [torch.ones(64, 64)]), 5, InputStructure((kind,)))
    assert torch.equal(changed.arguments[0], torch.ones(64, 64)) and not changed.is_few


def test_runs_have_other_signs_where_a_problem_must_not_be_scaled(tmp_path: Path) -> None:
    case = plain_case(tmp_path, "torch.randn(20, 30)", declared="{'without': {'scaled': 'a'}}")
    changes = FewChanges(case, torch.device("cpu")).only({"runs"})
    drawn = torch.randn(20, 30)
    (changed,) = changes.changed("runs", Draw(1, [drawn.clone()])).arguments
    assert changes.in_place == "runs" and torch.equal(changed.abs(), drawn.abs()) and not torch.equal(changed, drawn)


def test_smaller_rows_keep_their_signs_without_signs(tmp_path: Path) -> None:
    changes = FewChanges(plain_case(tmp_path, "torch.randn(20, 30)"), torch.device("cpu"))
    drawn = torch.randn(20, 30)
    for shown, keeps in (({"rows"}, True), ({"rows", "signs"}, False)):
        (changed,) = changes.only(shown).changed("rows", Draw(1, [drawn.clone()])).arguments
        assert torch.equal(changed.sign(), drawn.sign()) is keeps
