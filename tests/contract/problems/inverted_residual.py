"""A MobileNet block: expand, depthwise convolution, project, and the input added; batch normalization in training mode."""

import torch
from torch import nn

batch_size = 4
channels = 6
hidden = 18


class Model(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(channels, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return x + self.block(x)


def get_inputs():
    return [torch.randn(batch_size, channels, 14, 14)]


def get_init_inputs():
    return [channels, hidden]
