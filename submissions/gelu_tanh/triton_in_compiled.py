# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""GELU by a Triton kernel inside a function that torch.compile has wrapped: the kernel is its own, whoever launches it."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def gelu_block(x, y, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    v = tl.load(x + at, mask=at < n)
    # 0.5 * v * (1 + tanh(u)) is v / (1 + exp(-2 u)).
    power = tl.exp(-1.5957691216057308 * (v + 0.044715 * v * v * v))
    tl.store(y + at, v / (1.0 + power), mask=at < n)


@torch.compile
def gelu(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    gelu_block[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), block=1024)
    return y


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return gelu(x)
