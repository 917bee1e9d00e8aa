"""Distributions: how they change inputs, and what they keep."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.judge.correctness.inputs.input_distributions import CHANGES, changed, changes_anything
from evaluator.judge.correctness.inputs.input_structure import InputStructure, Kind, Relation, Tie
from evaluator.results.distributions import SOUND

DRAWS = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**62)
SIZES = st.integers(2, 24)
NAMES = st.sampled_from(list(CHANGES))
SOUND_NAMES = st.sampled_from(SOUND)
DTYPES = st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64])


def drawn(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def one(value: torch.Tensor, name: str, seed: int, kind: Kind) -> torch.Tensor:
    (found,) = changed([value.clone()], name, seed, InputStructure((kind,)))
    assert isinstance(found, torch.Tensor) and (found.shape, found.dtype) == (value.shape, value.dtype)
    return found


@DRAWS
@given(SEEDS, SIZES, SIZES, SOUND_NAMES, DTYPES)
def test_sound_changes_only_multiply(seed: int, rows: int, columns: int, name: str, dtype: torch.dtype) -> None:
    value = drawn(seed, rows, columns, dtype=dtype).tril()
    found = one(value, name, seed, Kind.FREE)
    assert torch.equal(found == 0, value == 0)
    ratio = (found.double() / value.double()).abs().nan_to_num(1.0)
    assert float(ratio.min()) >= 0.24 and float(ratio.max()) <= 4.1
    if name == "signs":
        assert torch.equal(found.abs(), value.abs())


@DRAWS
@given(SEEDS, SIZES, SIZES, NAMES, st.sampled_from([torch.float8_e4m3fn, torch.float8_e5m2]))
def test_numbers_of_eight_bits_change_and_stay_within_their_range(
    seed: int, rows: int, columns: int, name: str, dtype: torch.dtype
) -> None:
    value = (drawn(seed, rows, columns) * 100).clamp(-440, 440).to(dtype)
    found = one(value, name, seed, Kind.FREE)
    assert bool(found.float().isfinite().all())
    if name == "signs":
        assert torch.equal(found.float().abs(), value.float().abs())
    if name == "shifted":
        shifted = (value.float() + 100).clamp_max(torch.finfo(dtype).max)
        assert torch.equal(found.float(), shifted.to(dtype).float())
    if name == "scaled":
        ratio = (found.float() / value.float()).abs()[value.float().abs() > 1]
        assert not len(ratio) or 0.2 <= float(ratio.min()) <= float(ratio.max()) <= 4.6


@DRAWS
@given(SEEDS, SIZES, SOUND_NAMES)
def test_symmetric_stays_symmetric_and_positive_definite(seed: int, size: int, name: str) -> None:
    square = drawn(seed, 2, size, size)
    value = square @ square.mT + torch.eye(size, dtype=torch.float64)
    value = value.tril() + value.tril(-1).mT  # a BLAS may round the two halves of the product differently
    found = one(value, name, seed, Kind.SYMMETRIC)
    assert torch.equal(found, found.mT)
    assert float(torch.linalg.eigvalsh(found).min()) > 0
    assert torch.equal(found.diagonal(dim1=-2, dim2=-1) > 0, value.diagonal(dim1=-2, dim2=-1) > 0)


@DRAWS
@given(SEEDS, SIZES, SIZES, NAMES, st.booleans(), DTYPES)
def test_sorted_stays_sorted(seed: int, rows: int, columns: int, name: str, is_vector: bool, dtype: torch.dtype) -> None:
    value = drawn(seed, *([columns] if is_vector else [rows, columns]), dtype=dtype).sort(-1).values
    found = one(value, name, seed, Kind.SORTED)
    assert bool((found.diff(dim=-1) >= 0).all())


@DRAWS
@given(SEEDS, SIZES, SIZES, NAMES)
def test_positive_stays_positive(seed: int, rows: int, columns: int, name: str) -> None:
    value = drawn(seed, rows, columns).abs() + 1e-3
    assert bool((one(value, name, seed, Kind.POSITIVE) > 0).all())


@DRAWS
@given(SEEDS, SIZES, SIZES, NAMES)
def test_what_is_fixed_stays(seed: int, rows: int, columns: int, name: str) -> None:
    value = drawn(seed, rows, columns)
    assert torch.equal(one(value, name, seed, Kind.FIXED), value)


@DRAWS
@given(SEEDS, SIZES, SIZES, NAMES)
def test_equal_and_transposed_inputs_change_as_one(seed: int, rows: int, columns: int, name: str) -> None:
    value = drawn(seed, rows, columns)
    structure = InputStructure((Kind.FREE,) * 3, (Tie(1, 0, Relation.EQUAL), Tie(2, 0, Relation.TRANSPOSED)))
    first, same, transposed = changed([value.clone(), value.clone(), value.mT.contiguous()], name, seed, structure)
    assert torch.equal(first, same) and torch.equal(first, transposed.mT)


@DRAWS
@given(SEEDS, SIZES, SIZES, NAMES, st.sampled_from([Kind.FREE, Kind.POSITIVE]))
def test_ordered_inputs_stay_ordered(seed: int, rows: int, columns: int, name: str, kind: Kind) -> None:
    low = drawn(seed, rows, columns)
    structure = InputStructure((kind, Kind.FREE), (Tie(1, 0, Relation.ORDERED),))
    first, second = changed([low.clone(), low + drawn(seed + 1, rows, columns).abs()], name, seed, structure)
    assert bool((first <= second).all())


@DRAWS
@given(SEEDS, NAMES)
def test_a_seed_means_one_change(seed: int, name: str) -> None:
    value = drawn(seed, 16, 20, dtype=torch.float32)
    assert torch.equal(one(value, name, seed, Kind.FREE), one(value, name, seed, Kind.FREE))


@pytest.mark.parametrize("name", ["own", *CHANGES])
def test_each_distribution_but_the_problems_own_changes_plain_inputs(name: str) -> None:
    value = drawn(1, 16, 20)
    assert torch.equal(one(value, name, 2, Kind.FREE), value) is (name == "own")
    assert changes_anything(name, InputStructure((Kind.FIXED, Kind.FREE))) is (name != "own")
    assert not changes_anything(name, InputStructure((Kind.FIXED,)))


@pytest.mark.parametrize("name", ["own", *CHANGES])
def test_integers_and_plain_values_stay(name: str) -> None:
    arguments = [torch.arange(9), {"flags": torch.tensor([True, False])}, 0.5, "mean", None]
    found = changed(arguments, name, 1, InputStructure((Kind.FREE, Kind.FREE)))
    assert torch.equal(found[0], torch.arange(9)) and torch.equal(found[1]["flags"], torch.tensor([True, False]))
    assert found[2:] == [0.5, "mean", None]


def test_two_inputs_are_not_multiplied_by_the_same() -> None:
    value = drawn(1, 16, 20)
    first, second = changed([value.clone(), value.clone()], "signs", 3, InputStructure((Kind.FREE, Kind.FREE)))
    assert not torch.equal(first, second)


def test_without_a_structure_everything_changes() -> None:
    (found,) = changed([torch.ones(64)], "signs", 3)
    assert set(found.tolist()) == {-1.0, 1.0}


def test_inputs_whose_elements_share_memory_are_changed_too() -> None:
    (found,) = changed([torch.randn(1, 40).expand(8, 40)], "signs", 3, InputStructure((Kind.FREE,)))
    assert found.is_contiguous() and not torch.equal(found[0], found[1])
