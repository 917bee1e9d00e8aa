"""Convolution in one dimension with stride and dilation."""

import torch
from torch import nn

batch_size = 5
channels = 6
features = 7


class Model(nn.Module):
    def __init__(self, channels, features, kernel_size, stride, dilation):
        super().__init__()
        self.conv = nn.Conv1d(channels, features, kernel_size, stride=stride, dilation=dilation, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.rand(batch_size, channels, 150)]


def get_init_inputs():
    return [channels, features, 3, 2, 3]
