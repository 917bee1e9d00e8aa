"""Group normalization: mean and variance over groups of channels of each image."""

import torch
from torch import nn

batch_size = 32
channels = 256
groups = 32
height = 128
width = 128

ASSAY = {
    "description": "Group normalization of images",
    "tags": ["normalization", "reduction"],
    "level": 1,
    "source": "Wu and He, Group Normalization, 2018",
    "cases": {"full": {}, "small": {"batch_size": 3, "channels": 12, "groups": 4, "height": 11, "width": 13}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, groups: int, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)
        nn.init.normal_(self.norm.bias, std=0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, channels, height, width) to the same shape."""
        return self.norm(x)


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(batch_size, channels, 1, 1)
    return [torch.randn(batch_size, channels, height, width) * scale + torch.randn(batch_size, channels, 1, 1)]


def get_init_inputs() -> list[int]:
    return [groups, channels]
