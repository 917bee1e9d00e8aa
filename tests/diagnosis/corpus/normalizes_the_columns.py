# fault: the softmax runs over the wrong dimension
# problem: softmax
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values
# says: expected
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        powers = torch.exp(x - x.amax(0, keepdim=True))
        return powers / powers.sum(0, keepdim=True)
