"""A multilayer perceptron."""

import torch
from torch import nn

batch_size = 30
width = 100
hidden = [80, 80]
classes = 10


class Model(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        layers = []
        for size in hidden:
            layers += [nn.Linear(width, size), nn.ReLU()]
            width = size
        self.network = nn.Sequential(*layers, nn.Linear(width, classes))

    def forward(self, x):
        return self.network(x)


def get_inputs():
    return [torch.rand(batch_size, width)]


def get_init_inputs():
    return [width, hidden, classes]
