"""Batch normalization by the batch's own mean and variance, as in training: each channel must be read before any of it is written.

Channels differ in scale and in mean, so that leaving either out shows.
"""

import torch
from torch import nn

batch_size = 64
channels = 256
height = 56
width = 56

ASSAY = {
    "description": "Batch normalization in training mode",
    "tags": ["normalization", "reduction", "training"],
    "level": 1,
    "inputs": "any",
    "mode": "train",
    "cases": {"full": {}, "small": {"batch_size": 5, "channels": 7, "height": 9, "width": 11}},
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)
        nn.init.normal_(self.norm.bias, std=0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, channels, height, width) to the same shape."""
        return self.norm(x)


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(1, channels, 1, 1)
    return [torch.randn(batch_size, channels, height, width) * scale + torch.randn(1, channels, 1, 1)]


def get_init_inputs() -> list[int]:
    return [channels]
