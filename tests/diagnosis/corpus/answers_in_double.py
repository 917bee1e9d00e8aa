# fault: it computes in double and stays there
# problem: softmax
# expect: cpu incorrect/wrong_dtype
# expect: cuda incorrect/wrong_dtype
# says: float64
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        wide = x.double()
        return (wide - wide.amax(1, keepdim=True)).softmax(1)
