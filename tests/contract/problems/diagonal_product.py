"""A diagonal matrix times a full one."""

import torch
from torch import nn

rows = 120
columns = 77


class Model(nn.Module):
    def forward(self, a, b):
        return torch.diag(a) @ b


def get_inputs():
    return [torch.rand(rows), torch.rand(rows, columns)]


def get_init_inputs():
    return []
