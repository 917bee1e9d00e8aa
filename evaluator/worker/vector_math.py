"""Calls each of MKL's vector functions once, on one thread; the judges' and workers' parents import it.

MKL chooses the code of such a function in its first call. If several threads make that call at once, one of them may run a low-accuracy
version, with errors up to 1e-4, for its part of the tensor (https://github.com/pytorch/pytorch/issues/188792). An honest output on a CPU
would be wrong once, and right the next time. A parent's choice holds for the processes that it forks.
"""

import torch

FUNCTIONS = (
    *("acos", "asin", "atan", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "expm1", "lgamma", "log", "log10", "log1p", "log2", "sin"),
    *("sinh", "sqrt", "tan", "tanh"),
)
"""PyTorch functions that MKL may compute."""

for _name in FUNCTIONS:
    for _type in (torch.float32, torch.float64):
        getattr(torch, _name)(torch.full((1,), 0.5, dtype=_type))
