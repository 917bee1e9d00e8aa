"""The largest value of each window, windows overlapping."""

import torch
from torch import nn

batch_size = 64
channels = 128
height = 224
width = 224

ASSAY = {
    "description": "Max pooling, windows of 3 x 3 at a stride of 2",
    "tags": ["pooling", "stencil"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 3, "channels": 5, "height": 33, "width": 29}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, channels, height, width), padded by one, to about half of height and width."""
        return nn.functional.max_pool2d(x, kernel_size=3, stride=2, padding=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs() -> list[object]:
    return []
