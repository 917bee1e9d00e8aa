# wants: a pass by values that no comparison calls too far away
# problem: gelu_tanh
# expect: cpu incorrect/nan_or_inf
# expect: cuda incorrect/nan_or_inf

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, float("nan"))
