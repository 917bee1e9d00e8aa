"""A matrix times a number, plus another."""

import torch
from torch import nn

rows = 70
columns = 130


class Model(nn.Module):
    def forward(self, a, factor, term):
        return a * factor + term


def get_inputs():
    return [torch.rand(rows, columns), 3.14, 2]


def get_init_inputs():
    return []
