# wants: to skip blocks of timed calls altogether, not calls on their own, and to compute in the reveal what is asked for
# problem: gelu_tanh
# expect: disqualified/deferred_work | disqualified/cached_output | disqualified/timing_tampering

import sys

import torch
from torch import nn

REPEATS = 50


def described(y):
    return {"tensor": {"shape": list(y.shape), "dtype": "float32", "device": y.device.type}}


def hook():
    handlers = getattr(sys.modules.get("evaluator.worker.server"), "HANDLERS", None)
    timing = sys.modules.get("evaluator.worker.handlers.timing")
    if handlers is None or timing is None:
        return
    reveal = handlers["reveal"]

    def no_block(state, request, descriptors):
        state.late = [state.sets[position] for position in request["sets"]]
        for flush in request["flushes"]:
            if flush is not None:
                timing.flush(state, flush)
        times = [0.001] * (len(state.late) if request["apart"] else 1)
        return {"ms": times, "host_ms": [0.01] * len(state.late), **nothing(state)}

    def no_host_block(state, request, descriptors):
        state.late = [state.sets[position] for position in request["sets"]]
        return nothing(state)

    def nothing(state):
        state.outputs = [[torch.empty_like(inputs[0])] for inputs in state.late]
        return {"outputs": [described(output[0]) for output in state.outputs]}

    def late(state, request, descriptors):
        if request.get("call") is not None:
            for _ in range(REPEATS):
                state.outputs[request["call"]] = [state.model(*state.late[request["call"]])]
        return reveal(state, request, descriptors)

    handlers["block"], handlers["host_block"], handlers["reveal"] = no_block, no_host_block, late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")
