"""A gated linear recurrence, h = a * h + b, along time: the core of state space models.

The gates are drawn in [0, 1), so that what was long ago fades.
"""

import torch
from torch import nn

batch_size = 16
length = 2048
channels = 2048

ASSAY = {
    "description": "Gated linear recurrence along the middle dimension",
    "tags": ["scan", "sequence"],
    "level": 2,
    "cases": {"full": {}, "small": {"batch_size": 3, "length": 37, "channels": 29}},
    "inputs": "any",
    "without": {"wide": "gates above one make it grow without bound", "shifted": "gates above one make it grow without bound"},
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Two of shape (batch_size, length, channels) to one of the same."""
        state = torch.zeros_like(value[:, 0])
        states = []
        for step in range(value.shape[1]):
            state = gate[:, step] * state + value[:, step]
            states.append(state)
        return torch.stack(states, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(batch_size, length, channels), torch.randn(batch_size, length, channels)]


def get_init_inputs() -> list[object]:
    return []
