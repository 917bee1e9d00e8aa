"""Convolution over volumes, then ReLU and a bias."""

import torch
from torch import nn

batch_size = 2
channels = 3
features = 5


class Model(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.Conv3d(channels, features, 3)
        self.bias = nn.Parameter(torch.randn(features, 1, 1, 1))

    def forward(self, x):
        return torch.relu(self.conv(x)) + self.bias


def get_inputs():
    return [torch.rand(batch_size, channels, 10, 12, 11)]


def get_init_inputs():
    return [channels, features]
