"""Attention of each position to those before it."""

import torch
from torch import nn

batch_size = 8
heads = 16
length = 2048
width = 64

ASSAY = {
    "description": "Causal attention in float16",
    "tags": ["attention", "transformer"],
    "level": 2,
    "inputs": "any",
    "dtype": "float16",
    # Scores that are rounded before exp() are honest; in bfloat16, four times as much would have room for eight bits.
    "tolerance": {"float16": 4.0, "float32": 4.0},
    "cases": {"full": {}, "small": {"batch_size": 2, "heads": 3, "length": 77, "width": 32}},
    "without": {"shifted": "float16 does not hold the scores of shifted inputs apart"},
    "rows_independent": True,
    # Half of the scores, and three quarters of what is left, as two levels of Strassen's scheme would leave of each product.
    "floor": {"reads": "all", "operations": "3 * batch_size * heads * length * length * width / 2"},
}


class Model(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Three of shape (batch_size, heads, length, width) to one of the same."""
        return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def get_inputs() -> list[torch.Tensor]:
    shape = (batch_size, heads, length, width)
    return [torch.randn(shape), torch.randn(shape), torch.randn(shape)]


def get_init_inputs() -> list[object]:
    return []
