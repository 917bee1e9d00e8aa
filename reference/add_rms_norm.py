"""The residual and the norm between two blocks of a language model. The sum is an output too."""

import torch
from torch import nn

rows = 16384
dim = 8192

ASSAY = {
    "description": "Residual sum and its RMS normalization, both returned",
    "tags": ["normalization", "fused", "transformer"],
    "level": 2,
    "cases": {"full": {}, "small": {"rows": 31, "dim": 765}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-6)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Two of shape (rows, dim) to the normalized sum and the sum."""
        total = x + residual
        return self.norm(total), total


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + 2.0 * torch.rand(rows, 1)
    return [torch.randn(rows, dim) * scale, torch.randn(rows, dim) * scale]


def get_init_inputs() -> list[int]:
    return [dim]
