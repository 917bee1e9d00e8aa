# wants: to skip blocks of timed calls altogether, and to compute in the reveal what is asked for
# problem: gelu_tanh
# expect: cpu disqualified/deferred_work | disqualified/cached_output
# speedup: 2

import sys

import torch
from torch import nn

REPEATS = 50


def described(y):
    return {"tensor": {"shape": list(y.shape), "dtype": "float32", "device": y.device.type}}


def hook():
    handlers = getattr(sys.modules.get("evaluator.worker.server"), "HANDLERS", None)
    if handlers is None:
        return
    reveal = handlers["reveal"]

    def no_block(state, request, descriptors):
        state.late = [state.sets[position] for position in request["sets"]]
        state.outputs = [[torch.empty_like(inputs[0])] for inputs in state.late]
        return {"outputs": [described(output[0]) for output in state.outputs]}

    def late(state, request, descriptors):
        if request.get("call") is not None:
            for _ in range(REPEATS):
                state.outputs[request["call"]] = [state.model(*state.late[request["call"]])]
        return reveal(state, request, descriptors)

    handlers["host_block"], handlers["reveal"] = no_block, late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")
