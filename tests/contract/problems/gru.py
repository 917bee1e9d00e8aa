"""A GRU of two layers, its steps first."""

import torch
from torch import nn

length = 9
batch_size = 6
width = 18
hidden = 22


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gru = nn.GRU(width, hidden, num_layers=2)

    def forward(self, x, h0):
        return self.gru(x, h0)


def get_inputs():
    return [torch.rand(length, batch_size, width), torch.rand(2, batch_size, hidden)]


def get_init_inputs():
    return [width, hidden]
