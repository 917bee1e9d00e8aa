"""Figures of each row in a nested answer: tuples in a dict in a tuple, floating-point and integer tensors, and a plain number."""

from typing import Any

import torch
from torch import nn

rows = 4096
columns = 8192

ASSAY = {
    "description": "Mean, variance, extremes and where they stand, of each row",
    "cases": {"full": {}, "small": {"rows": 23, "columns": 307}},
    "inputs": "any",
    "without": dict.fromkeys(("ties", "shifted", "special"), "equal values have no one place"),
    "rows_independent": True,
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, dict[str, Any]]:
        """(rows, columns) to figures of shape (rows,), and the number of columns."""
        largest, at = x.max(dim=1)
        return x.mean(dim=1), {"variance": x.var(dim=1), "extremes": ((x.amin(dim=1), largest), at), "columns": x.shape[1]}


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, columns) * (0.5 + torch.rand(rows, 1)) + torch.randn(rows, 1)]


def get_init_inputs() -> list[object]:
    return []
