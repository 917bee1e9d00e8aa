"""Mean squared error, averaged to one number.

The targets' distance is random too. Otherwise the mean over so many elements would hardly differ between inputs.
"""

import torch
from torch import nn

batch_size = 16384
dim = 16384

ASSAY = {
    "description": "Mean squared error to one number",
    "tags": ["loss", "reduction"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 41, "dim": 1013}},
    "inputs": "any",
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Two of shape (batch_size, dim) to a scalar."""
        return nn.functional.mse_loss(x, target)


def get_inputs() -> list[torch.Tensor]:
    distance = 0.25 + 4.0 * torch.rand(1)
    x = torch.randn(batch_size, dim)
    return [x, x + distance * torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
