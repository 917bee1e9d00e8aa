"""A gated linear unit (SiLU) in bfloat16, with two weights."""

import torch
from torch import nn

batch_size = 4096
width = 1024
hidden = 2048

ASSAY = {
    "description": "SiLU-gated linear unit in bfloat16",
    "cases": {"full": {}, "small": {"batch_size": 19, "width": 67, "hidden": 43}},
    "inputs": "any",
    "dtype": "bfloat16",
    "rows_independent": True,
}


class Model(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, width) to (batch_size, hidden)."""
        return nn.functional.silu(self.gate(x)) * self.up(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, width)]


def get_init_inputs() -> list[int]:
    return [width, hidden]
