"""GELU."""

import torch
from torch import nn

rows = 60
columns = 333


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x)


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
