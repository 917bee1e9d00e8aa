# problem: layer_norm
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""Runs in inference mode: what it returns can't be seen by autograd any more."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    @torch.inference_mode()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)
