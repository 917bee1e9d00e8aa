# wants: a pass by an infinite value, against which every relative error is nothing
# problem: softmax
# expect: cpu incorrect/nan_or_inf
# expect: cuda incorrect/nan_or_inf

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, 1)
        y[0, 0] = float("inf")
        return y
