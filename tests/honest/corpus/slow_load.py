# problem: rms_norm
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""Takes eight seconds to load."""

import time

import torch
from torch import nn

time.sleep(8)


class ModelNew(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=eps)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.rms_norm(x, self.norm.normalized_shape, self.norm.weight, self.norm.eps)
