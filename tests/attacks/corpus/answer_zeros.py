# wants: a pass where an absolute tolerance is larger than every right value
# problem: softmax
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
