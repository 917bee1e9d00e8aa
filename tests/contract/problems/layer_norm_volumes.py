"""Layer normalization over three dimensions."""

import torch
from torch import nn

batch_size = 6
shape = (8, 21, 23)


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.norm = nn.LayerNorm(normalized_shape=shape)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(batch_size, *shape)]


def get_init_inputs():
    return [shape]
