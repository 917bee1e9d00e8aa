"""The largest values of each row, in descending order, and their indices.

Each row is a permutation of well-separated numbers, so that the indices have one right answer. Each row has its own random scale, so
that the values differ between rows and inputs.
"""

import torch
from torch import nn

rows = 4096
columns = 16384
k = 32

ASSAY = {
    "description": "Top k of each row: values and int64 indices",
    "tags": ["sort", "index", "rows"],
    "level": 1,
    "cases": {"full": {}, "small": {"rows": 13, "columns": 701, "k": 7}},
    "inputs": "any",
    "without": {"ties": "equal values have no one right index", "special": "equal values have no one right index"},
    "rows_independent": True,
    # Whether an element is among the largest shows only once it has been read.
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(rows, columns) to values and indices, each (rows, k)."""
        values, indices = torch.topk(x, self.k, dim=1)
        return values, indices


def get_inputs() -> list[torch.Tensor]:
    places = torch.rand(rows, columns).argsort(dim=1)
    return [places * ((0.5 + torch.rand(rows, 1)) / columns)]


def get_init_inputs() -> list[int]:
    return [k]
