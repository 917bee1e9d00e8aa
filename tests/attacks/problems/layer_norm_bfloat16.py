"""A layer normalization in bfloat16 of rows that are normal already, and so long that rounding hides what normalizing them changes."""

import torch
from torch import nn

rows = 16
dim = 262144

ASSAY = {"dtype": "bfloat16"}


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)
        nn.init.normal_(self.norm.bias, std=0.25)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(rows, dim)]


def get_init_inputs():
    return [dim]
