"""Other shapes of a problem: declared ones, and those made from the numbers in its file."""

import time
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.problem.shapes import Shape, another_batch, odd, other_shapes, three_quarters
from tests.problem.test_kernelbench import CODE

COMPUTED = """
import torch
from torch import nn

batch_size = 2 * 8
features, unused = 32, 5
HEADS: int = 4
width = 64
input_shape = (width, 12)
area = width * 12
limit = 3

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        assert width % HEADS == 0
        self.linear = nn.Linear(12, 3)

    def forward(self, x):
        assert x[0].numel() == area
        return self.linear(x)

def get_inputs():
    return [torch.rand(batch_size, *input_shape)]

def get_init_inputs():
    return [width]
"""


def shapes_of(folder: Path, source: str, case: str = "full") -> dict[str, Shape]:
    path = folder / "some.py"
    path.write_text(source)
    return {shape.name: shape for shape in other_shapes(load(path), case)}


def sizes(shape: Shape) -> list[tuple[int, ...]]:
    return [tuple(tensor.shape) for tensor in shape.case.inputs(1, "cpu")]


def test_a_kernelbench_file_has_shapes_made_from_its_numbers(tmp_path: Path) -> None:
    found = shapes_of(tmp_path, CODE)
    assert {name: sizes(shape) for name, shape in found.items()} == {
        "odd": [(23, 47)],
        "three-quarters": [(18, 36)],
        "batch": [(13, 48)],
    }
    assert found["odd"].constants == {"batch_size": 23, "dim": 47} and not found["odd"].declared
    (x,) = found["odd"].case.inputs(1, "cpu")
    assert torch.equal(found["odd"].case.model(1)(x), 3 * x)


def test_a_search_ends_after_seconds_and_what_it_found_by_then_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the search over a recurrent reference, step by step."""
    steps = "y = x\n        for _ in range(100_000 * len(x)):\n            y = y * 1.0\n        return"
    endless = CODE.replace("return", steps, 1)
    assert "100_000" in endless
    monkeypatch.setattr("evaluator.problem.shapes.SEARCH_S", 0.2)
    start = time.thread_time()
    assert shapes_of(tmp_path, endless) == {}
    assert time.thread_time() - start < 5.0  # the file is executed for each number, too
    monkeypatch.setattr("evaluator.problem.shapes._Maker.shapes", None)
    assert shapes_of(tmp_path, endless) == {}


def test_what_is_computed_from_a_number_follows_and_what_the_reference_refuses_is_left(tmp_path: Path) -> None:
    found = shapes_of(tmp_path, COMPUTED)
    # An odd width is refused by the model; the 12 can't change alone, for the area and the layer are written out.
    assert {name: sizes(shape) for name, shape in found.items()} == {
        "odd": [(15, 64, 12)],
        "three-quarters": [(12, 48, 12)],
        "batch": [(9, 64, 12)],
    }
    assert found["three-quarters"].constants == {"batch_size": 12, "width": 48}


def test_numbers_in_a_tuple_count_each(tmp_path: Path) -> None:
    source = CODE.replace("batch_size = 24\ndim = 48", "shape = (24, 48)").replace("torch.rand(batch_size, dim)", "torch.rand(shape)")
    assert sizes(shapes_of(tmp_path, source)["odd"]) == [(23, 47)]


def test_declared_shapes_take_their_place(tmp_path: Path) -> None:
    found = shapes_of(tmp_path, CODE + "\nASSAY = {'generalisation': {'one': {'batch_size': 1}}}")
    assert [(name, sizes(shape), shape.declared) for name, shape in found.items()] == [("one", [(1, 48)], True)]


def test_shapes_begin_from_those_of_the_case(tmp_path: Path) -> None:
    found = shapes_of(tmp_path, CODE + "\nASSAY = {'cases': {'full': {}, 'small': {'dim': 9}}}", "small")
    assert sizes(found["odd"]) == [(23, 7)] and found["batch"].constants == {"batch_size": 13, "dim": 9}


@pytest.mark.parametrize("change", [("torch.rand(batch_size, dim)", "torch.rand(24, 48)"), ("x * self.factor", "x[x > 0].unknown()")])
def test_without_numbers_that_count_or_a_reference_that_runs_there_are_none(change: tuple[str, str], tmp_path: Path) -> None:
    assert shapes_of(tmp_path, CODE.replace(*change)) == {}


def test_a_precision_is_that_of_the_problem() -> None:
    problem = load(SHIPPED / "gelu_tanh.py").in_precision("bfloat16")
    inputs: list[Any] = [shape.case.inputs(1, "cpu")[0] for shape in other_shapes(problem, "small")]
    assert len(inputs) == 3 and {tensor.dtype for tensor in inputs} == {torch.bfloat16}


@pytest.mark.parametrize(("size", "changed"), [(2, (1, 1, 2)), (7, (5, 5, 4)), (64, (63, 48, 33)), (4096, (4095, 3072, 2049))])
def test_sizes(size: int, changed: tuple[int, int, int]) -> None:
    assert (odd(size), three_quarters(size), another_batch(size)) == changed
