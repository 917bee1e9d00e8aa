"""One block of a transformer: norm, causal attention, residual; norm, feed-forward, residual."""

import torch
from torch import nn

batch_size = 8
length = 1024
dim = 1024
heads = 16

ASSAY = {
    "description": "Pre-norm transformer block with causal attention",
    "tags": ["transformer", "attention", "matmul"],
    "level": 3,
    "cases": {"full": {}, "small": {"batch_size": 2, "length": 33, "dim": 48, "heads": 4}},
    "inputs": "any",
    "rows_independent": True,
    # The four products of layers alone; of the three 16-bit products that float32 takes for each at the least, this counts one.
    "floor": {"reads": "all", "operations": "24 * batch_size * length * dim * dim"},
}


class Model(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(dim), nn.LayerNorm(dim)
        for norm in (self.before, self.between):
            nn.init.normal_(norm.weight, mean=1.0, std=0.25)
            nn.init.normal_(norm.bias, std=0.25)
        self.project, self.merge = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.widen, self.narrow = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, length, dim) to the same shape."""
        batch, length, dim = x.shape
        split = self.project(self.before(x)).view(batch, length, 3, self.heads, dim // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.merge(mixed.transpose(1, 2).reshape(batch, length, dim))
        return x + self.narrow(nn.functional.gelu(self.widen(self.between(x))))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, length, dim)]


def get_init_inputs() -> list[int]:
    return [dim, heads]
