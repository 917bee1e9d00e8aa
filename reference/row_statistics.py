"""Mean, spread and range of each row, by name: one pass computes all four."""

import torch
from torch import nn

rows = 32768
columns = 16384

ASSAY = {
    "description": "Mean, variance, least and largest value of rows, in a dict",
    "tags": ["reduction", "rows", "fused"],
    "level": 2,
    "cases": {"full": {}, "small": {"rows": 53, "columns": 1021}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """(rows, columns) to four of shape (rows,)."""
        variance, mean = torch.var_mean(x, dim=1, correction=0)
        return {"mean": mean, "variance": variance, "least": x.amin(dim=1), "largest": x.amax(dim=1)}


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + 2.0 * torch.rand(rows, 1)
    return [torch.randn(rows, columns) * scale + torch.randn(rows, 1)]


def get_init_inputs() -> list[object]:
    return []
