"""Normalization by the root mean square of the last dimension, with a weight.

Rows differ in scale, and the weight is random, so that leaving out the norm or the weight shows.
"""

import torch
from torch import nn

rows = 32768
dim = 8192
eps = 1e-6

ASSAY = {
    "description": "RMS normalization with a weight",
    "tags": ["normalization", "reduction", "rows"],
    "level": 1,
    "cases": {"full": {}, "small": {"rows": 29, "dim": 771}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=eps)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, dim) to the same shape."""
        return self.norm(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, dim) * (0.5 + 2.0 * torch.rand(rows, 1))]


def get_init_inputs() -> list[float]:
    return [dim, eps]
