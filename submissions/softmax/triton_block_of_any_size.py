# author: assay
# expect: cuda build_failed/cuda_compile_error
# expect: cpu run_failed/python_exception | not_evaluated/no_device
"""Wrong: the block is as long as the row, whatever its length, and Triton's blocks are powers of two."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_row(x, y, columns: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * columns + tl.arange(0, columns)
    value = tl.load(x + at)
    power = tl.exp(value - tl.max(value, 0))
    tl.store(y + at, power / tl.sum(power, 0))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        softmax_row[(x.shape[0],)](x, y, x.shape[1])
        return y
