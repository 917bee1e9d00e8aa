"""Calls each of MKL's vector functions once, on one thread; the judges' and workers' parents import it.

MKL chooses the code of such a function in its first call. If several threads make that call at once, one of them may run a low-accuracy
version, with errors up to 1e-4, for its part of the tensor (https://github.com/pytorch/pytorch/issues/188792). An honest output on a CPU
would be wrong once, and right the next time. A parent's choice holds for the processes that it forks.
"""

import torch

FUNCTIONS = (
    torch.acos,
    torch.asin,
    torch.atan,
    torch.cos,
    torch.cosh,
    torch.erf,
    torch.erfc,
    torch.erfinv,
    torch.exp,
    torch.expm1,
    torch.lgamma,
    torch.log,
    torch.log10,
    torch.log1p,
    torch.log2,
    torch.sin,
    torch.sinh,
    torch.sqrt,
    torch.tan,
    torch.tanh,
)
"""PyTorch functions that MKL may compute."""

for _function in FUNCTIONS:
    for _type in (torch.float32, torch.float64):
        _function(torch.full((1,), 0.5, dtype=_type))
