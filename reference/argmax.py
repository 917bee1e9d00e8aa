"""The index of each column's largest value."""

import torch
from torch import nn

batch_size = 128
length = 4096
width = 1023

ASSAY = {
    "description": "Index of the largest value along the middle dimension",
    "tags": ["reduction", "index"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 5, "length": 257, "width": 63}},
    "inputs": "any",
    "without": {"ties": "equal values have no one right index", "special": "equal values have no one right index"},
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, length, width) to int64 (batch_size, width)."""
        return torch.argmax(x, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, length, width)]


def get_init_inputs() -> list[object]:
    return []
