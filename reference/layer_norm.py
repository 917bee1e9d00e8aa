"""Layer normalization over the last dimension, with weight and bias.

Both are random: with torch's initial ones and zeros, an answer without them would pass.
"""

import torch
from torch import nn

batch_size = 64
length = 1024
dim = 4096

ASSAY = {
    "description": "Layer normalization with weight and bias",
    "tags": ["normalization", "reduction", "rows"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 3, "length": 7, "dim": 509}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)
        nn.init.normal_(self.norm.bias, std=0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, length, dim) to the same shape."""
        return self.norm(x)


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(batch_size, length, 1)
    return [torch.randn(batch_size, length, dim) * scale + torch.randn(batch_size, length, 1)]


def get_init_inputs() -> list[int]:
    return [dim]
