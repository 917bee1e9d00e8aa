"""Transposed convolution with stride and padding, then a clamp."""

import torch
from torch import nn

batch_size = 4
channels = 5
features = 6


class Model(nn.Module):
    def __init__(self, channels, features, stride, padding):
        super().__init__()
        self.conv = nn.ConvTranspose2d(channels, features, 3, stride=stride, padding=padding)

    def forward(self, x):
        return torch.clamp(self.conv(x), min=-0.5, max=0.5)


def get_inputs():
    return [torch.rand(batch_size, channels, 11, 13)]


def get_init_inputs():
    return [channels, features, 2, 1]
