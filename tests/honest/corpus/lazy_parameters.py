# problem: linear_block
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""Lazy layers: their parameters have no shape before they are given values or meet an input."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, _: int, out_features: int):
        super().__init__()
        self.linear = nn.LazyLinear(out_features)
        self.norm = nn.LazyBatchNorm1d()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.linear(x)))
