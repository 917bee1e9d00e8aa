"""Numbers held between two bounds, of which the second is the larger."""

import torch
from torch import nn

rows = 70
columns = 90


class Model(nn.Module):
    def forward(self, x, low, high):
        return torch.minimum(torch.maximum(x, low), high)


def get_inputs():
    low = torch.randn(rows, columns)
    return [torch.randn(rows, columns), low, low + torch.rand(rows, columns)]


def get_init_inputs():
    return []
