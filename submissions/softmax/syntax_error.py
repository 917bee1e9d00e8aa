# author: assay
# expect: cuda rejected/syntax_error
# expect: cpu rejected/syntax_error
"""Wrong: a parenthesis is never closed, so the file does not parse."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shifted = torch.exp(x - x.amax(dim=1, keepdim=True)
        return shifted / shifted.sum(dim=1, keepdim=True)
