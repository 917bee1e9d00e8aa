"""Each row in ascending order, and its values' original indices.

Each row is a permutation of well-separated numbers, so that the indices have one right answer. Each row has its own scale.
"""

import torch
from torch import nn

rows = 8192
columns = 4096

ASSAY = {
    "description": "Sorted rows: values and int64 indices",
    "tags": ["sort", "index", "rows"],
    "level": 1,
    "cases": {"full": {}, "small": {"rows": 13, "columns": 501}},
    "inputs": "any",
    "without": {"ties": "equal values have no one right index", "special": "equal values have no one right index"},
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(rows, columns) to values and indices of the same shape."""
        values, indices = torch.sort(x, dim=1)
        return values, indices


def get_inputs() -> list[torch.Tensor]:
    places = torch.rand(rows, columns).argsort(dim=1)
    return [places * ((0.5 + torch.rand(rows, 1)) / columns)]


def get_init_inputs() -> list[object]:
    return []
