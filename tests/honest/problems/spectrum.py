"""The spectrum of real rows: a complex answer."""

import torch
from torch import nn

rows = 4096
columns = 4096

ASSAY = {
    "description": "Real Fourier transform of each row",
    "cases": {"full": {}, "small": {"rows": 11, "columns": 240}},
    "inputs": "any",
    "rows_independent": True,
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, columns) to complex64 (rows, columns // 2 + 1)."""
        return torch.fft.rfft(x, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, columns)]


def get_init_inputs() -> list[object]:
    return []
