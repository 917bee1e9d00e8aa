"""The step before attention in many language models: RMS norm of each head of queries and keys, then rotary embedding."""

import torch
from torch import nn

tokens = 32768
heads = 32
groups = 8
width = 128
base = 1000000.0
longest = 32768

ASSAY = {
    "description": "RMS norm of each head of queries and keys, and rotary position embedding, in bfloat16",
    "tags": ["normalization", "position", "transformer", "fused"],
    "level": 2,
    "source": "Qwen Team, Qwen3 Technical Report, 2025",
    "dtype": "bfloat16",
    "inputs": "any",
    "cases": {"full": {}, "small": {"tokens": 29, "heads": 6, "groups": 2, "width": 22, "longest": 4096}},
    "generalisation": {"other": {"tokens": 515, "heads": 12, "groups": 3, "width": 64}},
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, width: int, base: float) -> None:
        super().__init__()
        self.query_norm = nn.Parameter(1.0 + 0.25 * torch.randn(width))
        self.key_norm = nn.Parameter(1.0 + 0.25 * torch.randn(width))
        self.base = base

    def forward(self, query: torch.Tensor, key: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(tokens, heads, width), (tokens, groups, width) and int64 (tokens,) to two of the first shapes; number i is paired with
        number i + width / 2."""
        width = query.size(-1)
        rates = self.base ** (-torch.arange(0, width, 2, dtype=torch.float64, device=query.device) / width)
        angles = (positions.double()[:, None] * rates)[:, None]
        return self._turned(query, self.query_norm, angles), self._turned(key, self.key_norm, angles)

    @staticmethod
    def _turned(x: torch.Tensor, weight: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        normal = nn.functional.rms_norm(x.to(wide), weight.shape, weight.to(wide), eps=1e-6)
        first, second = normal.chunk(2, dim=-1)
        cosines, sines = angles.cos().to(wide), angles.sin().to(wide)
        return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1).to(x.dtype)


def get_inputs() -> list[torch.Tensor]:
    positions = torch.randint(0, longest, (tokens,))
    return [torch.randn(tokens, heads, width), torch.randn(tokens, groups, width), positions]


def get_init_inputs() -> list[float]:
    return [width, base]
