"""GELU of few rows and of many, timed in each."""

import torch
from torch import nn

rows = 512
columns = 1024

ASSAY = {"workloads": [{"rows": 64}, {"rows": 512}, {"rows": 2048}]}


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
