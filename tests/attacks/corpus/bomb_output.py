# wants: a judge that drowns in output, or a pipe that nobody empties
# problem: softmax
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

import os

import torch
from torch import nn

PIECE = b"\xff\xfe not text \x00" * 8192


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        for _ in range(400):
            os.write(1, PIECE)
            os.write(2, PIECE)

    def forward(self, x):
        return torch.zeros_like(x)
