"""GELU in its tanh form: limited by memory as long as the tanh is cheap."""

import torch
from torch import nn

batch_size = 8192
dim = 8192

ASSAY = {
    "description": "GELU, tanh approximation",
    "cases": {"full": {}, "small": {"batch_size": 31, "dim": 1013}},
    "rows_independent": True,
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, dim) to the same shape."""
        return nn.functional.gelu(x, approximate="tanh")


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
