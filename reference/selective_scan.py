"""The selective scan of Mamba: a state per channel; the input sets its decay and reads it."""

import torch
from torch import nn

batch_size = 8
length = 512
channels = 2048
states = 16

ASSAY = {
    "description": "Selective scan of a state space model",
    "tags": ["scan", "sequence", "fused"],
    "level": 3,
    "source": "Gu and Dao, Mamba, 2023",
    "cases": {"full": {}, "small": {"batch_size": 3, "length": 37, "channels": 29, "states": 5}},
    "generalisation": {"other": {"batch_size": 3, "length": 131, "channels": 515, "states": 8}},
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, channels: int, states: int) -> None:
        super().__init__()
        self.rates = nn.Parameter(torch.rand(channels, states) * 2.5)
        self.skip = nn.Parameter(torch.randn(channels))

    def forward(self, x: torch.Tensor, step: torch.Tensor, written: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
        """Two of shape (batch_size, length, channels) and two of (batch_size, length, states) to one of the first shape."""
        kept = (step[..., None] * -self.rates.exp()).exp()
        given = (step * x)[..., None] * written[:, :, None]
        state = torch.zeros_like(given[:, 0])
        for time in range(x.size(1)):
            state = given[:, time].addcmul_(kept[:, time], state)
        return (given * read[:, :, None]).sum(-1) + self.skip * x


def get_inputs() -> list[torch.Tensor]:
    step = nn.functional.softplus(torch.randn(batch_size, length, channels) - 2.0)
    written, read = (torch.randn(batch_size, length, states) for _ in range(2))
    return [torch.randn(batch_size, length, channels), step, written, read]


def get_init_inputs() -> list[int]:
    return [channels, states]
