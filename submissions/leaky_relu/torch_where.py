# author: assay
# expect: cuda correct/no_custom_kernel
# expect: cpu not_evaluated/no_device
"""Right but unranked: chooses between two library results with torch.where and runs no kernel of its own."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x < 0, self.negative_slope * x, x)
