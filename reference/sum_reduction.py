"""Sum over a middle dimension: the summed elements are not neighbours in memory."""

import torch
from torch import nn

batch_size = 128
length = 4096
width = 1023

ASSAY = {
    "description": "Sum along dimension 1 of 3, kept as a dimension of size 1",
    "tags": ["reduction"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 5, "length": 257, "width": 63}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, length, width) to (batch_size, 1, width)."""
        return torch.sum(x, dim=self.dim, keepdim=True)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, length, width)]


def get_init_inputs() -> list[int]:
    return [1]
