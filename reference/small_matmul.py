"""Hundreds of thousands of products of 16 x 16 matrices: too small for a library's tiles, and bound by memory.

Sizes that are not multiples of 16 appear in the other shapes.
"""

import torch
from torch import nn

batch_size = 500_000
size = 16

ASSAY = {
    "description": "Very many small square matrix products",
    "tags": ["matmul", "batched", "small"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 301, "size": 13}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Two of shape (batch_size, size, size) to one of the same."""
        return torch.bmm(a, b)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, size, size), torch.randn(batch_size, size, size)]


def get_init_inputs() -> list[object]:
    return []
