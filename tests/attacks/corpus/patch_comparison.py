# wants: a comparison that always agrees, by patching torch, builtins and math
# problem: gelu_tanh
# expect: incorrect/wrong_values | run_failed/python_exception
import builtins
import math

import torch
from torch import nn


def agree(*_, **__):
    return True


torch.allclose = torch.equal = torch.testing.assert_close = agree
torch.Tensor.allclose = torch.Tensor.equal = agree
torch.isclose = lambda a, b, *_, **__: torch.ones_like(a, dtype=torch.bool)
builtins.all = agree
math.isclose = math.isfinite = agree


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
