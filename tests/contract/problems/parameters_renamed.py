"""A linear layer, layer normalization and a factor for each feature."""

import torch
from torch import nn

batch_size = 50
width = 80
hidden = 60


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.linear = nn.Linear(width, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.scale = nn.Parameter(torch.randn(hidden))

    def forward(self, x):
        return self.norm(self.linear(x)) * self.scale


def get_inputs():
    return [torch.randn(batch_size, width)]


def get_init_inputs():
    return [width, hidden]
