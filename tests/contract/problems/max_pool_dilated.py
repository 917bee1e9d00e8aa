"""Max pooling with stride, padding and dilation."""

import torch
from torch import nn

batch_size = 3
channels = 5


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding, dilation=dilation)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.rand(batch_size, channels, 33, 30)]


def get_init_inputs():
    return [3, 2, 1, 2]
