"""A depthwise convolution, then a pointwise one."""

import torch
from torch import nn

batch_size = 4
channels = 6
features = 9


class Model(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.pointwise = nn.Conv2d(channels, features, 1, bias=False)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


def get_inputs():
    return [torch.rand(batch_size, channels, 20, 21)]


def get_init_inputs():
    return [channels, features]
