"""Causal self-attention of several heads, with dropout."""

import math

import torch
from torch import nn

batch_size = 3
length = 40
width = 48
heads = 4


class Model(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("bias", torch.tril(torch.ones(length, length)).view(1, 1, length, length))
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.shape[-1])
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        y = self.dropout(torch.softmax(scores, dim=-1)) @ v
        return self.dropout(self.c_proj(y.transpose(1, 2).reshape(batch, length, width)))


def get_inputs():
    return [torch.randn(batch_size, length, width)]


def get_init_inputs():
    return [width, heads, length]
