"""Convolution, batch normalization in training mode, and a factor."""

import torch
from torch import nn

batch_size = 6
channels = 3
features = 8
factor = 2.0


class Model(nn.Module):
    def __init__(self, channels, features, factor):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3)
        self.bn = nn.BatchNorm2d(features)
        self.factor = factor

    def forward(self, x):
        return self.bn(self.conv(x)) * self.factor


def get_inputs():
    return [torch.rand(batch_size, channels, 22, 22)]


def get_init_inputs():
    return [channels, features, factor]
