# author: assay
# expect: cuda rejected/missing_model_new
# expect: cpu rejected/missing_model_new
"""Wrong: the class is called LeakyReLU; nothing in the file is called ModelNew."""

import torch
from torch import nn


class LeakyReLU(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clamp(min=0) + self.negative_slope * x.clamp(max=0)
