"""The negative of a tensor, in memory of its own."""

import torch
from torch import nn

rows = 2048
columns = 3072

ASSAY = {"cases": {"full": {}, "small": {"rows": 256}}}


class Model(nn.Module):
    def forward(self, x):
        return -x


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
