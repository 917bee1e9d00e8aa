# author: assay
# expect: cuda correct/no_custom_kernel
# expect: cpu not_evaluated/no_device
"""Right but unranked: spells softmax out in library operators and brings no kernel of its own."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        powers = torch.exp(x - x.amax(dim=1, keepdim=True))
        return powers.div_(powers.sum(dim=1, keepdim=True))
