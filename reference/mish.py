"""Mish: x times the hyperbolic tangent of softplus of x."""

import torch
from torch import nn

batch_size = 8192
dim = 16384

ASSAY = {
    "description": "Mish activation",
    "tags": ["activation", "elementwise"],
    "level": 1,
    "source": "Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019",
    "cases": {"full": {}, "small": {"batch_size": 31, "dim": 1021}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, dim) to the same shape."""
        return nn.functional.mish(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim) * 2.0]


def get_init_inputs() -> list[object]:
    return []
