# fault: the negative branch is forgotten; its own inputs have one
# problem: leaky_relu
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values
# says: all of them are 0
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0.0)
