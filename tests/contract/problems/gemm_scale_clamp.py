"""A linear layer, a factor, a clamp and GELU."""

import torch
from torch import nn

batch_size = 64
width = 300
hidden = 90
factor = 0.5


class Model(nn.Module):
    def __init__(self, width, hidden, factor):
        super().__init__()
        self.gemm = nn.Linear(width, hidden)
        self.factor = factor

    def forward(self, x):
        return nn.functional.gelu(nn.functional.hardtanh(self.gemm(x) * self.factor, -1.0, 1.0))


def get_inputs():
    return [torch.rand(batch_size, width)]


def get_init_inputs():
    return [width, hidden, factor]
