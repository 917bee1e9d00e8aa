# wants: a pass by a softmax that holds only where the inputs are small
# problem: softmax
# expect: cpu incorrect/nan_or_inf | incorrect/wrong_values
# expect: cuda incorrect/nan_or_inf | incorrect/wrong_values

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x)
        return e / e.sum(1, keepdim=True)
