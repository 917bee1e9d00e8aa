# wants: to return at once and to compute in the worker's own reveal
# problem: gelu_tanh
# expect: cpu disqualified/deferred_work | disqualified/cached_output
# expect: cuda disqualified/deferred_work | disqualified/cached_output

import gc

import torch
from torch import nn

REPEATS = 50
pending = []


def hook():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Server" and hasattr(type(thing), "answer"):
            handlers = type(thing).answer.__globals__["HANDLERS"]
            break
    else:
        return
    honest = handlers["reveal"]

    def late(state, request, descriptors):
        for x, y in pending:
            for _ in range(REPEATS):
                y.copy_(nn.functional.gelu(x, approximate="tanh"))
        return honest(state, request, descriptors)

    handlers["reveal"] = late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pending[:] = [(x, y)]
        return y
