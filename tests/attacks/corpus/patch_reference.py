# wants: a reference that computes what the submission does, by patching the operators that it calls
# problem: softmax
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

import sys

import torch
from torch import nn


def zeros(x, *_, **__):
    return torch.zeros_like(x)


torch.softmax = torch.Tensor.softmax = nn.functional.softmax = nn.Softmax.forward = zeros
for module in list(sys.modules.values()):
    model = getattr(module, "Model", None)
    if isinstance(model, type):
        model.forward = lambda self, x: torch.zeros_like(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
