# fault: a helper called at load time imports what is not installed
# problem: matmul
# expect: cpu run_failed/import_error
# expect: cuda run_failed/import_error
# says: No module named 'cupy_kernels'
import torch
from torch import nn


def compiled():
    from cupy_kernels.raw import RawKernel  # HERE

    return RawKernel("multiply")


KERNEL = compiled()


class ModelNew(nn.Module):
    def forward(self, a, b):
        return KERNEL(a, b)
