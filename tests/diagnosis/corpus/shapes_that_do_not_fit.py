# fault: a product of shapes that do not fit, in a helper
# problem: matmul
# expect: cpu run_failed/python_exception
# expect: cuda run_failed/python_exception
# says: mat1 and mat2 shapes cannot be multiplied
import torch
from torch import nn


def product(left, right):
    return torch.mm(left, right)  # HERE


class ModelNew(nn.Module):
    def forward(self, a, b):
        return product(a.t(), b)
