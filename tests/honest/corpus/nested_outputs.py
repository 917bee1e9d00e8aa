# problem: row_statistics
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""A nested answer with a named tuple of its own in the place of a tuple; one tensor is another's view."""

from collections import OrderedDict
from typing import NamedTuple

import torch
from torch import nn


class Extremes(NamedTuple):
    both: tuple[torch.Tensor, torch.Tensor]
    at: torch.Tensor


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor):
        ordered, places = x.sort(dim=1, stable=True)
        variance, mean = torch.var_mean(x, dim=1)
        extremes = Extremes((ordered[:, 0], ordered[:, -1]), places[:, -1])
        return mean, OrderedDict(columns=x.size(1), extremes=extremes, variance=variance)
