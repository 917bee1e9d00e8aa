"""Sums of rows, drawn where their hyperbolic tangent is all but 1."""

import torch
from torch import nn

rows = 20000
columns = 64


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x.sum(dim=1) / 4)


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
