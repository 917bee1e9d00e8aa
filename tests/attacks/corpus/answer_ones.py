# wants: a pass by an answer that is the same for every input
# problem: layer_norm
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        return torch.ones_like(x)
