"""A matrix product in float16, whose long sums need more than half precision."""

import torch
from torch import nn

rows = 512
inner = 16384
columns = 512


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(rows, inner).half(), torch.randn(inner, columns).half()]


def get_init_inputs():
    return []
