"""A layer and its activation: the product need not be stored in memory."""

import torch
from torch import nn

rows = 8192
inner = 4096
columns = 4096

ASSAY = {
    "description": "Linear layer with bias and GELU in bfloat16",
    "tags": ["matmul", "activation", "fused"],
    "level": 2,
    "inputs": "any",
    "dtype": "bfloat16",
    "cases": {"full": {}, "small": {"rows": 67, "inner": 129, "columns": 93}},
    "rows_independent": True,
    # Three quarters of what the product takes when multiplied out, as two levels of Strassen's scheme would leave of it.
    "floor": {"reads": "all", "operations": "3 * rows * inner * columns / 2"},
}


class Model(nn.Module):
    def __init__(self, inner: int, columns: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inner, columns)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, inner) to (rows, columns)."""
        return nn.functional.gelu(self.linear(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner)]


def get_init_inputs() -> list[int]:
    return [inner, columns]
