# problem: softmax
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""The work is done by a TorchScript function."""

import torch
from torch import nn


@torch.jit.script
def rows(x: torch.Tensor) -> torch.Tensor:
    powers = torch.exp(x - x.amax(dim=1, keepdim=True))
    return powers / powers.sum(dim=1, keepdim=True)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rows(x)
