"""The gate of SwiGLU: SiLU of one half of each row, times the other half."""

import torch
from torch import nn

rows = 16384
hidden = 8192

ASSAY = {
    "description": "SwiGLU gate: SiLU of one half of each row times the other half",
    "tags": ["activation", "elementwise", "fused"],
    "level": 2,
    "source": "Shazeer, GLU Variants Improve Transformer, 2020",
    "cases": {"full": {}, "small": {"rows": 37, "hidden": 509}},
    "inputs": "any",
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, 2 * hidden) to (rows, hidden)."""
        gate, value = x.chunk(2, dim=1)
        return nn.functional.silu(gate) * value


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, 2 * hidden)]


def get_init_inputs() -> list[object]:
    return []
