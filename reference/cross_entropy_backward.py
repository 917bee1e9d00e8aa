"""The backward pass of softmax and cross entropy: the gradient of the logits, for losses with one gradient each."""

import torch
from torch import nn

rows = 8192
classes = 32000

ASSAY = {
    "description": "Gradient of softmax cross entropy with respect to the logits",
    "tags": ["loss", "softmax", "backward", "training"],
    "level": 1,
    "inputs": "any",
    "cases": {"full": {}, "small": {"rows": 29, "classes": 1009}},
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, logits: torch.Tensor, targets: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        """(rows, classes), int64 (rows,) and the losses' gradient (rows,) to (rows, classes)."""
        probabilities = logits.softmax(dim=1)
        minus_one = torch.full_like(probabilities[:, :1], -1.0)
        return probabilities.scatter_add_(1, targets[:, None], minus_one) * gradient[:, None]


def get_inputs() -> list[torch.Tensor]:
    spread = 0.5 + 4.0 * torch.rand(rows, 1)
    return [torch.randn(rows, classes) * spread, torch.randint(0, classes, (rows,)), torch.randn(rows)]


def get_init_inputs() -> list[object]:
    return []
