# problem: gelu_tanh
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""Returns an nn.Parameter."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.Parameter(nn.functional.gelu(x, approximate="tanh"))
