# author: assay
# expect: cuda correct/ok
# expect: cpu correct/ok | not_evaluated/no_device
"""Softmax in Triton: a program for each row finds maximum and sum together in one pass, and writes the row from its end backwards in another."""

import torch
import triton
import triton.language as tl
from torch import nn

BLOCK = 4096


@triton.jit
def softmax_row(x, y, columns, block: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * columns
    within = tl.arange(0, block)
    # A maximum and a sum for each lane of the block, made one in the end: no lane waits for another meanwhile.
    largest = tl.full((block,), float("-inf"), tl.float32)
    total = tl.zeros((block,), tl.float32)
    blocks = tl.cdiv(columns, block)
    for number in range(0, blocks):
        at = number * block + within
        value = tl.load(x + start + at, mask=at < columns, other=float("-inf"))
        higher = tl.maximum(largest, value)
        # A lane that has seen nothing yet has no maximum to subtract: of two infinities the difference is no number.
        total = tl.where(higher > float("-inf"), total * tl.exp(largest - higher) + tl.exp(value - higher), 0.0)
        largest = higher
    highest = tl.max(largest, 0)
    scale = 1.0 / tl.sum(total * tl.exp(largest - highest), 0)
    for number in range(0, blocks):
        at = (blocks - 1 - number) * block + within
        value = tl.load(x + start + at, mask=at < columns, other=float("-inf"))
        tl.store(y + start + at, tl.exp(value - highest) * scale, mask=at < columns)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        softmax_row[(x.shape[0],)](x, y, x.shape[1], block=BLOCK, num_warps=8)
        return y
