"""One rank's shard of a feed-forward block under tensor parallelism, without an all-gather.

Each rank's tokens are one tensor, as in the ranks' memory, and are not joined. The shard holds some of the hidden units. Its outputs
are partial sums, one tensor per rank, as a reduce-scatter takes them.
"""

import torch
from torch import nn

ranks = 8
rows = 512
dim = 4096
hidden = 1792

ASSAY = {
    "description": "Tensor-parallel shard of a SwiGLU block over the ranks' own tokens, in bfloat16",
    "tags": ["matmul", "transformer", "fused", "parallel"],
    "level": 3,
    "source": "Shoeybi et al., Megatron-LM, 2019",
    "inputs": "any",
    "dtype": "bfloat16",
    "cases": {"full": {}, "small": {"ranks": 3, "rows": 13, "dim": 64, "hidden": 43}},
    "generalisation": {"other": {"ranks": 2, "rows": 77, "dim": 512, "hidden": 120}},
    "rows_independent": True,
    # Three quarters of what the products take when multiplied out, as two levels of Strassen's scheme would leave of each.
    "floor": {"reads": "all", "operations": "9 * ranks * rows * dim * hidden / 2"},
}


class Model(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, tokens: list[torch.Tensor]) -> list[torch.Tensor]:
        """`ranks` tensors of shape (rows, dim) to as many of the same shape."""
        return [self.down(nn.functional.silu(self.gate(x)) * self.up(x)) for x in tokens]


def get_inputs() -> list[list[torch.Tensor]]:
    return [[torch.randn(rows, dim) for _ in range(ranks)]]


def get_init_inputs() -> list[int]:
    return [dim, hidden]
