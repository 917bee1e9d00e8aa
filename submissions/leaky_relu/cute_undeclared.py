# author: assay
# expect: cuda build_failed/undeclared_identifier | not_evaluated/no_toolchain
# expect: cpu not_evaluated/no_device
"""Wrong: the kernel multiplies by `steepness`, a name that nothing defines; CuTe DSL finds out at the first call."""

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings import driver
from cutlass.cute.runtime import from_dlpack
from torch import nn

THREADS = 256


@cute.kernel
def bend(x: cute.Tensor, y: cute.Tensor, slope: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        value = x[i]
        y[i] = value if value > 0.0 else value * steepness


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, slope: cutlass.Float32, stream: driver.CUstream):
    blocks = cute.ceil_div(cute.size(x), THREADS)
    bend(x, y, slope).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


def as_cute(tensor: torch.Tensor) -> cute.Tensor:
    return from_dlpack(tensor.view(-1)).mark_layout_dynamic()


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.slope = cutlass.Float32(negative_slope)
        self.compiled = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        arguments = as_cute(x), as_cute(y), self.slope, driver.CUstream(torch.cuda.current_stream(x.device).cuda_stream)
        if self.compiled is None:
            self.compiled = cute.compile(launch, *arguments)
        self.compiled(*arguments)
        return y
