"""A product with eight-bit weights: int8 with a scale per column, dequantised within the product.

The weights are inputs, so that they differ each time.
"""

import torch
from torch import nn

rows = 64
inner = 8192
columns = 28672

ASSAY = {
    "description": "Matrix product with int8 weights and a scale for each column",
    "tags": ["matmul", "quantised"],
    "level": 2,
    "cases": {"full": {}, "small": {"rows": 5, "inner": 131, "columns": 77}},
    "inputs": "any",
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        """(rows, inner), int8 (columns, inner) and (columns,) to (rows, columns)."""
        return x @ (weight.to(x.dtype) * scale[:, None]).t()


def get_inputs() -> list[torch.Tensor]:
    weight = torch.randint(-127, 128, (columns, inner), dtype=torch.int8)
    return [torch.randn(rows, inner), weight, (0.5 + torch.rand(columns)) / 127]


def get_init_inputs() -> list[object]:
    return []
