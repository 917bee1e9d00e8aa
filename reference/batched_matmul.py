"""A batch of products of medium-sized matrices."""

import torch
from torch import nn

batch_size = 256
rows = 512
inner = 512
columns = 512

ASSAY = {
    "description": "Batched matrix product in float32",
    "tags": ["matmul", "batched"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 5, "rows": 33, "inner": 65, "columns": 47}},
    "inputs": "any",
    "rows_independent": True,
    # Of the three 16-bit products that float32 takes at the least, this counts one.
    "floor": {"reads": "all", "operations": "2 * batch_size * rows * inner * columns"},
}


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """(batch_size, rows, inner) and (batch_size, inner, columns) to (batch_size, rows, columns)."""
        return torch.bmm(a, b)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, rows, inner), torch.randn(batch_size, inner, columns)]


def get_init_inputs() -> list[object]:
    return []
