"""Average pooling over volumes; the padding counts."""

import torch
from torch import nn

batch_size = 2
channels = 4


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.pool = nn.AvgPool3d(kernel_size, stride=stride, padding=padding)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.rand(batch_size, channels, 13, 15, 14)]


def get_init_inputs():
    return [3, 2, 1]
