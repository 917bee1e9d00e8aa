"""Sums of rows of a table, looked up by index, as in recommenders."""

import torch
from torch import nn

entries = 1_000_000
width = 128
bags = 262_144
per_bag = 32

ASSAY = {
    "description": "Sum of embeddings for each bag of int64 indices",
    "tags": ["embedding", "gather", "reduction"],
    "level": 1,
    "cases": {"full": {}, "small": {"entries": 401, "width": 61, "bags": 23, "per_bag": 9}},
    "inputs": "any",
    "rows_independent": True,
    # Which rows of the table are read, the draw decides.
    "floor": {"reads": [0]},
}


class Model(nn.Module):
    def __init__(self, entries: int, width: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(entries, width, mode="sum")

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """int64 (bags, per_bag) to (bags, width)."""
        return self.table(indices)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, entries, (bags, per_bag))]


def get_init_inputs() -> list[int]:
    return [entries, width]
