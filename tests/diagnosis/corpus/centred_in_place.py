# fault: the maximum is subtracted from the input itself
# problem: softmax
# expect: cpu incorrect/mutated_input
# expect: cuda incorrect/mutated_input
# says: in-place operation
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        x -= x.amax(1, keepdim=True)
        powers = x.exp()
        return powers / powers.sum(1, keepdim=True)
