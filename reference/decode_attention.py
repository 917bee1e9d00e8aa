"""Attention of one new position to a cache of keys and values that groups of heads share: bound by reading the cache."""

import torch
from torch import nn

batch_size = 64
heads = 32
groups = 8
length = 4096
width = 128

ASSAY = {
    "description": "Grouped-query attention of one new token to a cache, in float16",
    "tags": ["attention", "inference", "memory"],
    "level": 2,
    "inputs": "any",
    "dtype": "float16",
    # Scores that are rounded before exp() are honest; in bfloat16, four times as much would have room for eight bits.
    "tolerance": {"float16": 4.0, "float32": 4.0},
    "cases": {"full": {}, "small": {"batch_size": 3, "heads": 4, "groups": 2, "length": 77, "width": 32}},
    "without": {"shifted": "float16 does not hold the scores of shifted inputs apart"},
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, heads: int, groups: int) -> None:
        super().__init__()
        self.shared = heads // groups

    def forward(self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """(batch_size, heads, 1, width) and two of (batch_size, groups, length, width) to (batch_size, heads, 1, width)."""
        keys, values = (cache.repeat_interleave(self.shared, dim=1) for cache in (keys, values))
        return nn.functional.scaled_dot_product_attention(query, keys, values)


def get_inputs() -> list[torch.Tensor]:
    cache = (batch_size, groups, length, width)
    return [torch.randn(batch_size, heads, 1, width), torch.randn(cache), torch.randn(cache)]


def get_init_inputs() -> list[int]:
    return [heads, groups]
