"""Where the maximum stands, in long rows of few different values."""

import torch
from torch import nn

rows = 12
columns = 20011


class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1)


def get_inputs():
    return [torch.randint(0, 12, (rows, columns)).float()]


def get_init_inputs():
    return []
