# author: assay
# expect: cuda build_failed/undeclared_identifier | not_evaluated/no_toolchain
# expect: cpu not_evaluated/no_device | build_failed/undeclared_identifier
"""Wrong: the kernel multiplies by `steepness`, a name that nothing defines; TileLang finds out at the first call."""

import tilelang
import tilelang.language as T
import torch
from torch import nn

BLOCK = 1024


@tilelang.jit
def bend(X, slope: float, block: int = BLOCK):
    n = T.const("n")
    X: T.Tensor((n,), T.float32)
    Y = T.empty((n,), T.float32)
    with T.Kernel(T.ceildiv(n, block), threads=256) as b:
        for i in T.Parallel(block):
            Y[b * block + i] = T.if_then_else(X[b * block + i] > 0, X[b * block + i], X[b * block + i] * steepness)
    return Y


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return bend(x.contiguous().view(-1), self.negative_slope).view_as(x)
