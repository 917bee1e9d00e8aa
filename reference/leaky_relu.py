"""Leaky ReLU: limited by memory, 6.4 GB in and 6.4 GB out.

Half of the inputs are negative: on inputs that are not, the identity would pass.
"""

import torch
from torch import nn

batch_size = 4096
dim = 393216

ASSAY = {
    "description": "Leaky ReLU with slope 0.01",
    "tags": ["activation", "elementwise"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 33, "dim": 1019}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, dim) to the same shape."""
        return nn.functional.leaky_relu(x, negative_slope=self.negative_slope)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
