"""A vision transformer of one block: patches, a class token, attention, a perceptron, and a head."""

import torch
from torch import nn

batch_size = 3
size = 16
patch = 4
width = 32
heads = 4
classes = 10


class Model(nn.Module):
    def __init__(self, size, patch, width, heads, classes):
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, stride=patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.place = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width))
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, classes)

    def forward(self, image):
        x = self.embed(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.place
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.mlp(self.norm2(x))
        return self.head(x[:, 0])


def get_inputs():
    return [torch.randn(batch_size, 3, size, size)]


def get_init_inputs():
    return [size, patch, width, heads, classes]
