# fault: the reduced dimension is dropped
# problem: sum_reduction
# expect: cpu incorrect/wrong_shape
# expect: cuda incorrect/wrong_shape
# says: shape
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.sum(self.dim)
