"""Rows of a table, looked up by index: reads in random order."""

import torch
from torch import nn

entries = 200_000
width = 1024
batch_size = 256
length = 1024

ASSAY = {
    "description": "Embedding lookup with int64 indices",
    "tags": ["embedding", "gather"],
    "level": 1,
    "cases": {"full": {}, "small": {"entries": 401, "width": 61, "batch_size": 7, "length": 19}},
    "inputs": "any",
    "rows_independent": True,
    # Which rows of the table are read, and how many of them more than once, the draw decides.
    "floor": {"reads": [0]},
}


class Model(nn.Module):
    def __init__(self, entries: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(entries, width)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """int64 (batch_size, length) to (batch_size, length, width)."""
        return self.embedding(indices)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, entries, (batch_size, length))]


def get_init_inputs() -> list[int]:
    return [entries, width]
