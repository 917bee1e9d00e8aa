"""RMS normalization fused with the quantisation to FP8 for the product after it: a scale per row, and the codes' bytes.

The bytes are those of float8_e4m3fn, which holds ±448. They are compared as integers, so that each code must be right, unless
it depends on rounding.
"""

import torch
from torch import nn

rows = 32768
dim = 8192

ASSAY = {
    "description": "RMS normalization and quantisation to FP8 with a scale for each row",
    "tags": ["normalization", "quantised", "fp8", "fused"],
    "level": 2,
    "dtype": "bfloat16",
    "inputs": "any",
    "cases": {"full": {}, "small": {"rows": 31, "dim": 765}},
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.25 * torch.randn(dim))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(rows, dim) to uint8 of the same shape, the bytes of float8_e4m3fn, and a scale for each row, float32 (rows,)."""
        wide = torch.promote_types(x.dtype, torch.float32)
        normal = nn.functional.rms_norm(x.to(wide), self.weight.shape, self.weight.to(wide), eps=1e-6)
        scale = normal.abs().amax(dim=1).clamp_min(1e-12) / 448.0
        codes = (normal / scale[:, None]).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
        return codes.view(torch.uint8), scale


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, dim) * (0.5 + 2.0 * torch.rand(rows, 1))]


def get_init_inputs() -> list[int]:
    return [dim]
