# author: assay
# expect: cuda correct/no_custom_kernel
# expect: cpu not_evaluated/no_device
"""Right but unranked: has torch.compile fuse library operators. The kernels that it generates are nobody's own."""

import math

import torch
from torch import nn


@torch.compile
def gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return gelu(x)
