# author: assay
# expect: cuda correct/ok
# expect: cpu correct/ok | not_evaluated/no_device
"""Leaky ReLU in Triton: each program bends 4096 elements. Without a GPU it runs in Triton's interpreter, where Triton is installed."""

import torch
import triton
import triton.language as tl
from torch import nn

BLOCK = 4096


@triton.jit
def bend(x, y, n, slope, block: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.where(value > 0, value, value * slope), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        bend[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), self.negative_slope, block=BLOCK)
        return y
