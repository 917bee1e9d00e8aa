"""Means of numbers that hardly differ."""

import torch
from torch import nn

batch_size = 8
count = 512


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.mean(x, dim=self.dim)


def get_inputs():
    return [5 + 0.1 * torch.rand(batch_size, count, 33)]


def get_init_inputs():
    return [1]
