"""Rotary position embedding: pairs of numbers of each head, turned by an angle that grows with the position."""

import torch
from torch import nn

batch_size = 16
heads = 32
length = 2048
width = 128
base = 10000.0

ASSAY = {
    "description": "Rotary position embedding of queries",
    "tags": ["elementwise", "transformer", "position"],
    "level": 2,
    "source": "Su et al., RoFormer, 2021",
    "cases": {"full": {}, "small": {"batch_size": 2, "heads": 3, "length": 51, "width": 22}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    rates: torch.Tensor

    def __init__(self, width: int, base: float) -> None:
        super().__init__()
        # In float64, as the angles are: far positions turn by thousands of radians.
        self.register_buffer("rates", base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, heads, length, width) to the same shape; number i is paired with number i + width / 2."""
        positions = torch.arange(x.shape[2], dtype=torch.float64, device=x.device)
        angles = torch.outer(positions, self.rates.double())
        cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, heads, length, width)]


def get_init_inputs() -> list[float]:
    return [width, base]
