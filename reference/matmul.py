"""Matrix product in float32: limited by arithmetic, 137 GFLOP over 200 MB."""

import torch
from torch import nn

rows = 4096
inner = 4096
columns = 4096

ASSAY = {
    "description": "Matrix product in float32",
    "tags": ["matmul"],
    "level": 1,
    "cases": {"full": {}, "small": {"rows": 67, "inner": 129, "columns": 93}},
    # Strassen's scheme saves an eighth a level; but of the three 16-bit products that float32 takes at the least, this counts one.
    "inputs": "any",
    "floor": {"reads": "all", "operations": "2 * rows * inner * columns"},
}


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """(rows, inner) by (inner, columns) to (rows, columns)."""
        return torch.matmul(a, b)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(inner, columns)]


def get_init_inputs() -> list[object]:
    return []
