"""Where the minimum stands along a long middle dimension."""

import torch
from torch import nn

batch_size = 4
count = 30000
dim = 1


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.argmin(x, dim=self.dim)


def get_inputs():
    return [torch.rand(batch_size, count, 5)]


def get_init_inputs():
    return [dim]
