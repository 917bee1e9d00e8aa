"""Running sums of rows: a scan, whose every output depends on all inputs before it."""

import torch
from torch import nn

rows = 16384
columns = 16384

ASSAY = {
    "description": "Running sum along rows",
    "tags": ["scan", "rows"],
    "level": 1,
    "cases": {"full": {}, "small": {"rows": 27, "columns": 1021}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, columns) to the same shape."""
        return torch.cumsum(x, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, columns)]


def get_init_inputs() -> list[object]:
    return []
