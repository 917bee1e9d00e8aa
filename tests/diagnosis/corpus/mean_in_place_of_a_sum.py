# fault: the sum is divided by the count
# problem: sum_reduction
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values
# says: times what is expected
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.mean(self.dim, keepdim=True)
