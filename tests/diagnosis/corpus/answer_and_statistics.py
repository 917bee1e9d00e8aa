# fault: it returns its mean and deviation too
# problem: layer_norm
# expect: cpu incorrect/wrong_structure
# expect: cuda incorrect/wrong_structure
# says: a tensor
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return {"out": self.norm(x), "mean": x.mean(-1), "deviation": x.std(-1)}
