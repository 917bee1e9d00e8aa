"""Group normalization."""

import torch
from torch import nn

batch_size = 6
features = 16
groups = 4


class Model(nn.Module):
    def __init__(self, features, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, features)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(batch_size, features, 19, 18)]


def get_init_inputs():
    return [features, groups]
