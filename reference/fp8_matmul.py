"""A product in FP8 with block scales: the activations are quantised here, in groups of a row; the weights are FP8 with one scale per block.

The activations' scales are powers of two, so that their quotients are exact and every code has one right value. The answer is in float16,
whose tolerance allows the sums of FP8 matrix units, but not operands rounded to bfloat16.
"""

import torch
from torch import nn

rows = 4096
inner = 4096
columns = 4096
block = 128

ASSAY = {
    "description": "FP8 matrix product with block scales, activations quantised on the way",
    "tags": ["matmul", "quantised", "fp8"],
    "level": 3,
    "source": "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024",
    "cases": {"full": {}, "small": {"rows": 61, "inner": 160, "columns": 203, "block": 32}},
    "generalisation": {"other": {"rows": 1013, "inner": 1024, "columns": 515}},
    "compute": "fp8",
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, block: int) -> None:
        super().__init__()
        self.block = block

    def quantised(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, inner) rounded to float8_e4m3fn, each group of `block` numbers over the power of two that brings it up to 224 to 448."""
        groups = x.unflatten(1, (-1, self.block))
        largest = groups.abs().amax(dim=2, keepdim=True).clamp_min(1e-20) / 448.0
        mantissa = torch.frexp(largest).mantissa
        scale = largest / torch.where(mantissa == 0.5, 1.0, mantissa)
        return ((groups / scale).to(torch.float8_e4m3fn).to(x.dtype) * scale).flatten(1)

    def forward(self, x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        """float16 (rows, inner), float8_e4m3fn (columns, inner) and a scale for each block of it to float16 (rows, columns)."""
        wide = torch.promote_types(x.dtype, torch.float32)
        scales = scale.to(wide).repeat_interleave(self.block, 0).repeat_interleave(self.block, 1)
        weights = weight.to(wide) * scales[: weight.size(0), : weight.size(1)]
        return (self.quantised(x.to(wide)) @ weights.t()).to(x.dtype)


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(rows, inner, dtype=torch.float16)
    weight = (torch.randn(columns, inner) * 100.0).clamp_(-448.0, 448.0).to(torch.float8_e4m3fn)
    blocks = -(-columns // block), inner // block
    return [x, weight, (0.5 + torch.rand(blocks)) / (100.0 * inner**0.5)]


def get_init_inputs() -> list[int]:
    return [block]
