# wants: to leave the work to the moment when the worker waits for the device
# problem: gelu_tanh
# expect: cpu disqualified/deferred_work | disqualified/cached_output | incorrect/wrong_values | incorrect/unwritten_output
# expect: cuda disqualified/timing_tampering | disqualified/deferred_work | disqualified/cached_output | incorrect/wrong_values | incorrect/unwritten_output

import sys

import torch
from torch import nn

pending = []
honest = getattr(sys.modules.get("evaluator.worker.state"), "synchronize", lambda device: None)


def late(device):
    while pending:
        x, y = pending.pop()
        y.copy_(nn.functional.gelu(x, approximate="tanh"))
    honest(device)


for module in list(sys.modules.values()):
    if getattr(module, "synchronize", None) is honest:
        module.synchronize = late


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pending[:] = [(x, y)]
        return y
