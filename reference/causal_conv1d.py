"""A short convolution along time that does not look ahead, with SiLU: the front of many state space layers."""

import torch
from torch import nn

batch_size = 32
channels = 4096
length = 4096
taps = 4

ASSAY = {
    "description": "Causal depthwise convolution along time with SiLU",
    "tags": ["convolution", "sequence", "fused"],
    "level": 2,
    "cases": {"full": {}, "small": {"batch_size": 3, "channels": 13, "length": 67}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, channels: int, taps: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, kernel_size=taps, padding=taps - 1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, channels, length) to the same shape."""
        return nn.functional.silu(self.conv(x)[..., : x.shape[-1]])


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, length)]


def get_init_inputs() -> list[int]:
    return [channels, taps]
