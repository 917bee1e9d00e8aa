"""A convolution of each channel with its own filter: a stencil, bound by memory."""

import torch
from torch import nn

batch_size = 64
channels = 256
height = 112
width = 112

ASSAY = {
    "description": "Depthwise 3 x 3 convolution with bias",
    "tags": ["convolution", "stencil"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 3, "channels": 7, "height": 19, "width": 23}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, channels, height, width) to the same shape."""
        return self.conv(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs() -> list[int]:
    return [channels]
