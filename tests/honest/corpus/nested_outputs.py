# form: a nested answer with a named tuple of its own in the place of a tuple; one tensor is another's view
# problem: row_statistics
# expect: correct/no_custom_kernel
from collections import OrderedDict
from typing import NamedTuple


class Extremes(NamedTuple):
    both: tuple[torch.Tensor, torch.Tensor]
    at: torch.Tensor


def forward(self, x: torch.Tensor):
    ordered, places = x.sort(dim=1, stable=True)
    variance, mean = torch.var_mean(x, dim=1)
    extremes = Extremes((ordered[:, 0], ordered[:, -1]), places[:, -1])
    return mean, OrderedDict(columns=x.size(1), extremes=extremes, variance=variance)
