"""A list of linear layers, each with a Swish."""

import itertools

import torch
from torch import nn

batch_size = 40
sizes = [70, 50, 90, 20]


class Model(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))

    def forward(self, x):
        for layer in self.layers:
            x = nn.functional.silu(layer(x))
        return x


def get_inputs():
    return [torch.randn(batch_size, sizes[0])]


def get_init_inputs():
    return [sizes]
