# problem: topk
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""Several outputs, each a view of the first columns of a larger tensor."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = x.sort(dim=1, descending=True)
        return values[:, : self.k], indices[:, : self.k]
