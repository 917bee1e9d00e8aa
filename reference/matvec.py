"""A matrix times a vector: each element of the matrix is read once and used once."""

import torch
from torch import nn

rows = 32768
columns = 16384

ASSAY = {
    "description": "Matrix-vector product in float32",
    "tags": ["matmul", "memory"],
    "level": 1,
    "cases": {"full": {}, "small": {"rows": 211, "columns": 1021}},
    "inputs": "any",
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """(rows, columns) and (columns,) to (rows,)."""
        return a @ x


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, columns), torch.randn(columns)]


def get_init_inputs() -> list[object]:
    return []
