"""Imported by the parents of judges and workers: it calls each of MKL's vector functions once, on one thread.

MKL chooses the code of such a function in its first call. Where several threads make that call at once, one of them may run a version
of low accuracy, with errors up to 1e-4, for its part of the tensor (https://github.com/pytorch/pytorch/issues/188792). An honest answer
on a processor would be wrong once, and right when it is asked again. What a parent has chosen holds for the processes that it forks.
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
"""What MKL may compute of PyTorch's functions."""

for _function in FUNCTIONS:
    for _type in (torch.float32, torch.float64):
        _function(torch.full((1,), 0.5, dtype=_type))
