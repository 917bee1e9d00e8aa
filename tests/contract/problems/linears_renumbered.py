"""Linear layers of one width with ReLU between them."""

import torch
from torch import nn

batch_size = 50
width = 72


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.rand(batch_size, width)]


def get_init_inputs():
    return [width]
