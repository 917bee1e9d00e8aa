"""Softmax over the elements before the diagonal, as in causal attention."""

import torch
from torch import nn

batch_size = 64
length = 2048

ASSAY = {
    "description": "Softmax of each row up to the diagonal, with a scale",
    "tags": ["softmax", "attention", "fused"],
    "level": 2,
    "cases": {"full": {}, "small": {"batch_size": 3, "length": 77}},
    "inputs": "any",
    "rows_independent": True,
    # Half of what is given lies behind the diagonal and is not needed.
    "floor": {},
}


class Model(nn.Module):
    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        """(batch_size, length, length) to the same shape; zero above the diagonal."""
        ahead = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        return (scores * 0.125).masked_fill(ahead, float("-inf")).softmax(dim=-1)


def get_inputs() -> list[torch.Tensor]:
    return [8.0 * torch.randn(batch_size, length, length)]


def get_init_inputs() -> list[object]:
    return []
