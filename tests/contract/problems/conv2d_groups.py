"""Convolution in groups, with stride, padding and bias."""

import torch
from torch import nn

batch_size = 4
channels = 6
features = 10
groups = 2


class Model(nn.Module):
    def __init__(self, channels, features, groups):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, (3, 5), stride=2, padding=(1, 2), groups=groups)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.rand(batch_size, channels, 25, 22)]


def get_init_inputs():
    return [channels, features, groups]
