"""A layer's usual epilogue: a bias per column, a residual, and ReLU, in one pass over memory."""

import torch
from torch import nn

rows = 32768
columns = 4096

ASSAY = {
    "description": "Bias, residual and ReLU in one pass",
    "tags": ["elementwise", "fused"],
    "level": 2,
    "cases": {"full": {}, "small": {"rows": 43, "columns": 771}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, columns: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(columns))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """Two of shape (rows, columns) to one of the same."""
        return torch.relu(x + self.bias + residual)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, columns), torch.randn(rows, columns)]


def get_init_inputs() -> list[int]:
    return [columns]
