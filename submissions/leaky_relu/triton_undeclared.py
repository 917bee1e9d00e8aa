# author: assay
# expect: cuda build_failed/undeclared_identifier
# expect: cpu build_failed/undeclared_identifier | not_evaluated/no_device
"""Wrong: the kernel multiplies by `steepness`, which it has no argument of that name for; Triton finds out at the first launch."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def bend(x, y, n, slope, block: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.where(value > 0, value, value * steepness), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        bend[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), self.negative_slope, block=4096)
        return y
