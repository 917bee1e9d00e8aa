"""Kullback-Leibler divergence of each row from logits on both sides: two softmaxes, neither of which is stored."""

import torch
from torch import nn

rows = 16384
classes = 16384

ASSAY = {
    "description": "Kullback-Leibler divergence between rows of logits",
    "tags": ["loss", "softmax", "fused"],
    "level": 2,
    "cases": {"full": {}, "small": {"rows": 61, "classes": 517}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
        """Two of shape (rows, classes) to (rows,)."""
        right = nn.functional.log_softmax(teacher, dim=1)
        return (right.exp() * (right - nn.functional.log_softmax(student, dim=1))).sum(dim=1)


def get_inputs() -> list[torch.Tensor]:
    spread = 0.5 + 2.0 * torch.rand(rows, 1)
    return [torch.randn(rows, classes) * spread, torch.randn(rows, classes) * spread]


def get_init_inputs() -> list[object]:
    return []
