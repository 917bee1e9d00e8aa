# wants: a pass by a small tensor that broadcasts in the comparison
# problem: sum_reduction
# expect: cpu incorrect/wrong_shape
# expect: cuda incorrect/wrong_shape

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.sum(x, dim=self.dim)
