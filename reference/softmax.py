"""Softmax over rows far longer than a block: limited by memory, 6.4 GB in and 6.4 GB out."""

import torch
from torch import nn

batch_size = 4096
dim = 393216

ASSAY = {
    "description": "Softmax along dimension 1",
    "tags": ["softmax", "reduction", "rows"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 17, "dim": 1021}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, dim) to the same shape."""
        return torch.softmax(x, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
