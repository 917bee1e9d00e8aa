"""Instance normalization."""

import torch
from torch import nn

batch_size = 6
features = 9


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.InstanceNorm2d(features)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(batch_size, features, 24, 25)]


def get_init_inputs():
    return [features]
