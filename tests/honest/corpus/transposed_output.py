# problem: matmul
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""Returns a transposed view: the product of the transposed factors, in the other order."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (b.t().contiguous() @ a.t().contiguous()).t()
