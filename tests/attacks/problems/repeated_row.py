"""GELU of a row, written out for each row of a matrix."""

import torch
from torch import nn

rows = 4096
columns = 3072

ASSAY = {"cases": {"full": {}, "small": {"rows": 256}}}


class Model(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh").repeat(self.rows, 1)


def get_inputs():
    return [torch.randn(columns)]


def get_init_inputs():
    return [rows]
