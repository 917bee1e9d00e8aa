"""The conjugate of complex rows, in memory of its own."""

import torch
from torch import nn

rows = 2048
columns = 2048

ASSAY = {"cases": {"full": {}, "small": {"rows": 256}}}


class Model(nn.Module):
    def forward(self, x):
        return torch.conj_physical(x)


def get_inputs():
    return [torch.randn(rows, columns, dtype=torch.complex64)]


def get_init_inputs():
    return []
