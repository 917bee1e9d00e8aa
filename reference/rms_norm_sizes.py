"""RMS normalization from one token of a small model to a long prompt of a large one: one score over 16 sizes."""

import torch
from torch import nn

tokens = 4096
features = 8192
eps = 1e-5

ASSAY = {
    "description": "RMS normalization, timed in 16 sizes",
    "tags": ["normalization", "rows", "workloads"],
    "level": 1,
    "cases": {"full": {}, "small": {"tokens": 33, "features": 1024}},
    "workloads": [{"tokens": rows, "features": columns} for rows in (1, 16, 256, 4096) for columns in (1024, 2048, 4096, 8192)],
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(tokens, features) to the same shape."""
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps) * self.weight


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, features)]


def get_init_inputs() -> list[object]:
    return [features, eps]
