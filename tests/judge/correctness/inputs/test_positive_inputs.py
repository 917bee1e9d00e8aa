"""Which inputs a problem's text makes positive."""

import pytest

from evaluator.judge.correctness.inputs.positive_inputs import positive_positions

POSITIVE = [
    "return [torch.randn(4, 5).abs()]",
    "return [torch.abs(torch.randn(4, 5))]",
    "return [torch.rand(4, 5) + 1e-3]",
    "return [torch.randn(4, 5) ** 2]",
    "return [torch.nn.functional.softplus(torch.randn(4))]",
    "x = torch.randn(4).exp()\n    return [x]",
    "x = torch.randn(4)\n    y = x.exp()\n    return [y]",
    "x = torch.rand(4)\n    x += 1e-3\n    return [x]",
    "x = torch.randn(4)\n    x.abs_()\n    return (x,)",
    "x: torch.Tensor = torch.randn(4).square()\n    return [x]",
    "inputs = [torch.rand(4) + 1]\n    return inputs",
    "inputs = []\n    inputs.append(torch.randn(4).abs())\n    return inputs",
    "return [torch.rand(4) + 1 for _ in range(1)]",
    "return list(map(torch.abs, [torch.randn(4).abs()]))",
    "return [made_positive(4)]",
]
SIGNED = [
    "return [torch.rand(4, 5)]",
    "return [torch.rand(rows + 1, 5)]",
    "return [torch.rand(size=(rows + 1, rows ** 2))]",
    "return [torch.rand(4) * 2]",
    "return [torch.rand(4) * 2 ** 0.5]",
    "return [torch.rand(rows * (columns + 1)).view(rows, columns + 1)]",
    "return [torch.rand(4) - 0.5]",
    "x = torch.rand(4, 5)\n    return [x.mT]",
    "inputs = [torch.rand(4)]\n    return inputs",
    "return [torch.rand(4) for _ in range(1)]",
    "return [drawn(4)]",
    "pass",
]
FILE = """
import torch

def made_positive(size):
    return torch.randn(size).abs()

def drawn(size):
    return torch.rand(size)

def get_inputs():
    {}
"""


@pytest.mark.parametrize("body", POSITIVE)
def test_a_function_or_an_addition_makes_an_input_positive(body: str) -> None:
    assert 0 in positive_positions(FILE.format(body))


@pytest.mark.parametrize("body", SIGNED)
def test_nothing_else_does(body: str) -> None:
    assert 0 not in positive_positions(FILE.format(body))


def test_each_position_has_its_own_expression() -> None:
    found = positive_positions(FILE.format("x = torch.rand(3)\n    y = x + 1\n    return [x, y, torch.rand(2), x.abs()]"))
    assert [position for position in range(4) if position in found] == [1, 3]


def test_a_file_without_the_function_says_nothing() -> None:
    assert 0 not in positive_positions("get_inputs = list")
