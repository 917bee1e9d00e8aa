# wants: a worker that does something else, by giving its functions other code
# problem: gelu_tanh
# expect: incorrect/wrong_values | incorrect/unwritten_output | incorrect/nan_or_inf

import sys

import torch
from torch import nn


def reveal(state, request, descriptors):
    return {}


module = sys.modules.get("evaluator.worker.handlers.calls")
if module is not None:
    module.reveal.__code__ = reveal.__code__


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
