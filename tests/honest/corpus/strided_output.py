# problem: sum_reduction
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""Returns the last line of a running sum: a view with strides and an offset, over memory 257 times its size."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(dim=self.dim).narrow(self.dim, x.size(self.dim) - 1, 1)
