"""The feed-forward block of a language model: two products, a gate, and a third product."""

import torch
from torch import nn

rows = 4096
dim = 4096
hidden = 11008

ASSAY = {
    "description": "SwiGLU feed-forward block in bfloat16",
    "tags": ["matmul", "transformer", "fused"],
    "level": 3,
    "inputs": "any",
    "dtype": "bfloat16",
    "cases": {"full": {}, "small": {"rows": 29, "dim": 64, "hidden": 171}},
    "rows_independent": True,
    # Three quarters of what the products take when multiplied out, as two levels of Strassen's scheme would leave of each.
    "floor": {"reads": "all", "operations": "9 * rows * dim * hidden / 2"},
}


class Model(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, dim) to the same shape."""
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, dim)]


def get_init_inputs() -> list[int]:
    return [dim, hidden]
