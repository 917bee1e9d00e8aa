"""Batch normalization with running averages, as in evaluation: a scale and a shift per channel."""

import torch
from torch import nn

batch_size = 64
channels = 256
height = 112
width = 112

ASSAY = {
    "description": "Batch normalization by running averages, and ReLU",
    "tags": ["normalization", "elementwise"],
    "level": 2,
    "cases": {"full": {}, "small": {"batch_size": 3, "channels": 5, "height": 17, "width": 13}},
    "inputs": "any",
    "mode": "eval",
    "rows_independent": True,
    "floor": {"reads": [0]},
}


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)
        nn.init.normal_(self.norm.bias, std=0.25)
        self.norm.running_mean = torch.randn(channels)
        self.norm.running_var = 0.5 + torch.rand(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, channels, height, width) to the same shape."""
        return torch.relu(self.norm(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs() -> list[int]:
    return [channels]
