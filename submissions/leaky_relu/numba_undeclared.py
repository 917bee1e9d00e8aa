# author: assay
# expect: cuda build_failed/undeclared_identifier | not_evaluated/no_toolchain
# expect: cpu not_evaluated/no_device
"""Wrong: the kernel multiplies by `steepness`, a name that nothing defines; Numba finds out at the first call."""

import torch
from numba import cuda
from torch import nn


@cuda.jit
def bend(x, y, slope):
    stride = cuda.gridsize(1)
    for i in range(cuda.grid(1), x.size, stride):
        value = x[i]
        y[i] = value if value > 0 else value * steepness


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        stream = cuda.external_stream(torch.cuda.current_stream(x.device).cuda_stream)
        flat = [cuda.as_cuda_array(tensor.view(-1), sync=False) for tensor in (x, y)]
        bend[min((x.numel() + 255) // 256, 1 << 20), 256, stream](*flat, self.negative_slope)
        return y
