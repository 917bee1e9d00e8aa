"""RMS normalization, forward and backward: the gradients of input and weight are outputs too.

The weight's gradient is a sum over all rows.
"""

import torch
from torch import nn

rows = 8192
dim = 4096

ASSAY = {
    "description": "RMS normalization with its backward pass",
    "tags": ["normalization", "backward", "training"],
    "level": 2,
    "inputs": "any",
    "backward": True,
    "cases": {"full": {}, "small": {"rows": 29, "dim": 515}},
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-6)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, dim) to the same shape."""
        return self.norm(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, dim) * (0.5 + 2.0 * torch.rand(rows, 1))]


def get_init_inputs() -> list[int]:
    return [dim]
