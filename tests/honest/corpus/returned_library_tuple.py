# problem: topk
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""Several outputs in torch's own named tuple, as torch.topk returns them."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor):
        return torch.topk(x, self.k, dim=1)
