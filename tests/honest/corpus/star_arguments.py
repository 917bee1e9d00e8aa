# problem: matmul
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""forward() and the constructor take whatever comes."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, *arguments, **options):
        super().__init__()
        self.arguments, self.options = arguments, options

    def forward(self, *factors, **options):
        assert not options
        return torch.linalg.multi_dot(factors)
