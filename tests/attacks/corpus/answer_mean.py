# wants: a pass by the mean of every row, which no absolute tolerance tells from the right values
# problem: softmax
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1.0 / x.shape[1])
