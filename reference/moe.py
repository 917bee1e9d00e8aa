"""A layer of experts: each token passes those that a router chose for it, and their outputs are summed, weighted by its gates.

Tokens of one expert are multiplied together: one product for each expert, of as many rows as it was given.
"""

import torch
from torch import nn

tokens = 8192
dim = 2048
hidden = 2048
experts = 32
chosen = 4

ASSAY = {
    "description": "Mixture of experts: a grouped matrix product over routed tokens, in bfloat16",
    "tags": ["matmul", "moe", "gather"],
    "level": 3,
    "source": "Shazeer et al., Outrageously Large Neural Networks, 2017",
    "dtype": "bfloat16",
    "cases": {"full": {}, "small": {"tokens": 45, "dim": 67, "hidden": 51, "experts": 5, "chosen": 2}},
    "generalisation": {"other": {"tokens": 515, "dim": 264, "hidden": 136, "experts": 9, "chosen": 3}},
    "rows_independent": True,
    # Which experts are read, the draw decides. Three quarters of the products, as two levels of Strassen's scheme would leave of each.
    "floor": {"reads": [0, 1, 2], "operations": "3 * tokens * chosen * dim * hidden / 2"},
}


class Model(nn.Module):
    def __init__(self, experts: int, dim: int, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(experts, hidden, dim) / dim**0.5)

    def forward(self, x: torch.Tensor, chosen: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
        """(tokens, dim), int64 (tokens, chosen) and (tokens, chosen) to (tokens, hidden); nobody chooses an expert twice."""
        wide = torch.promote_types(x.dtype, torch.float32)
        total = torch.zeros(x.size(0), self.weight.size(1), dtype=wide, device=x.device)
        for number, weight in enumerate(self.weight):
            token, place = (chosen == number).nonzero(as_tuple=True)
            total.index_add_(0, token, (x[token] @ weight.t()).to(wide) * gates[token, place, None])
        return total.to(x.dtype)


def get_inputs() -> list[torch.Tensor]:
    # Experts are not liked alike: some get several times as many tokens as others.
    liked = torch.randn(tokens, experts) + torch.randn(experts)
    values, places = liked.topk(chosen, dim=1)
    return [torch.randn(tokens, dim), places, values.softmax(dim=1)]


def get_init_inputs() -> list[int]:
    return [experts, dim, hidden]
