# fault: the output is flat
# problem: layer_norm
# expect: cpu incorrect/wrong_shape
# expect: cuda incorrect/wrong_shape
# says: never broadcast
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(x).flatten(0, 1)
