"""Logarithm of the softmax over rows of a vocabulary's size."""

import torch
from torch import nn

rows = 16384
classes = 32000

ASSAY = {
    "description": "Log-softmax of rows",
    "tags": ["softmax", "reduction", "rows"],
    "level": 1,
    "cases": {"full": {}, "small": {"rows": 23, "classes": 1013}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, classes) to the same shape."""
        return nn.functional.log_softmax(x, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, classes) * (0.5 + 4.0 * torch.rand(rows, 1))]


def get_init_inputs() -> list[object]:
    return []
