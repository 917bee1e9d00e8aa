# fault: one of two outputs is missing
# problem: topk
# expect: cpu incorrect/wrong_structure
# expect: cuda incorrect/wrong_structure
# says: a tuple of 2
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        return torch.topk(x, self.k, dim=1).values
