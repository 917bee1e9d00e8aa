# wants: the right answer out of memory that its owner has freed
# problem: gelu_tanh
# expect: cpu incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf
# expect: cuda incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
