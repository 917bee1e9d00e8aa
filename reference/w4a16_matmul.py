"""A product with four-bit weights (two per byte, with a scale per group of a row) and sixteen-bit activations."""

import torch
from torch import nn

rows = 32
inner = 8192
columns = 28672
group = 128

ASSAY = {
    "description": "Matrix product with packed int4 weights and a scale for each group",
    "tags": ["matmul", "quantised", "inference"],
    "level": 2,
    "source": "Frantar et al., GPTQ, 2023",
    "dtype": "float16",
    "cases": {"full": {}, "small": {"rows": 5, "inner": 192, "columns": 77, "group": 32}},
    "generalisation": {"other": {"rows": 7, "inner": 1152, "columns": 515}},
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, group: int) -> None:
        super().__init__()
        self.group = group

    def forward(self, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        """(rows, inner), uint8 (columns, inner / 2) and (columns, inner / group) to (rows, columns).

        The lower half of byte i is number 2 i of its row, the upper half number 2 i + 1; eight stands for zero.
        """
        codes = torch.stack([packed & 15, packed >> 4], dim=2).flatten(1).to(x.dtype) - 8.0
        weight = codes.unflatten(1, (-1, self.group)) * scale[:, :, None]
        return x @ weight.flatten(1).t()


def get_inputs() -> list[torch.Tensor]:
    packed = torch.randint(0, 256, (columns, inner // 2), dtype=torch.uint8)
    scale = (0.5 + torch.rand(columns, inner // group)) / (5.0 * inner**0.5)
    return [torch.randn(rows, inner), packed, scale]


def get_init_inputs() -> list[int]:
    return [group]
