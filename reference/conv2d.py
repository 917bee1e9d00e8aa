"""Convolution of images with 3 x 3 kernels, stride 1, padding 1, and a bias."""

import torch
from torch import nn

batch_size = 32
in_channels = 64
out_channels = 128
height = 256
width = 256
kernel_size = 3

ASSAY = {
    "description": "3 x 3 convolution with padding and bias",
    "tags": ["convolution"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 2, "in_channels": 5, "out_channels": 7, "height": 19, "width": 23}},
    "inputs": "any",
    "rows_independent": True,
    # A multiplication and an addition for each pixel and pair of channels: what is left of nine in the limit of large Winograd tiles.
    "floor": {"reads": "all", "operations": "2 * batch_size * in_channels * out_channels * height * width"},
}


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, in_channels, height, width) to (batch_size, out_channels, height, width)."""
        return self.conv(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size]
