# problem: spectrum
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""Returns a tensor whose conjugation torch has only noted down."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        backwards = torch.fft.ifft(x, dim=1, norm="forward")
        return backwards[:, : x.size(1) // 2 + 1].conj()
