# wants: to compute two calls of three only if they are looked at, and the third at once, so that the fastest reveal is an honest one
# problem: gelu_tanh
# expect: cpu disqualified/deferred_work | disqualified/cached_output
# expect: cuda disqualified/deferred_work | disqualified/cached_output

import sys

import torch
from torch import nn

REPEATS = 50
pending = []


def hook():
    handlers = getattr(sys.modules.get("evaluator.worker.server"), "HANDLERS", None)
    if handlers is None:
        return
    honest = handlers["reveal"]

    def late(state, request, descriptors):
        while pending:
            work(*pending.pop())
        return honest(state, request, descriptors)

    handlers["reveal"] = late


def work(x, y):
    for _ in range(REPEATS):
        y.copy_(nn.functional.gelu(x, approximate="tanh"))


hook()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = torch.empty_like(x)
        if self.calls % 3 == 0:
            work(x, y)
        else:
            pending[:] = [(x, y)]
        return y
