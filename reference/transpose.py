"""A matrix transposed in memory: nothing to compute, all of it to move."""

import torch
from torch import nn

rows = 16384
columns = 12288

ASSAY = {
    "description": "Transpose of a matrix into contiguous memory, with a scale",
    "tags": ["layout", "memory"],
    "level": 1,
    "cases": {"full": {}, "small": {"rows": 131, "columns": 517}},
    "inputs": "any",
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, columns) to (columns, rows), contiguous and halved: a view alone is not the answer."""
        return (0.5 * x.t()).contiguous()


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, columns)]


def get_init_inputs() -> list[object]:
    return []
