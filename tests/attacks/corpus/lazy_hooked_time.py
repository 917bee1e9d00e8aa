# wants: to skip the timed calls altogether, and to compute in the reveal if there is one
# problem: gelu_tanh
# expect: cpu disqualified/deferred_work | disqualified/cached_output
# expect: cuda disqualified/deferred_work | disqualified/cached_output | correct/no_custom_kernel
# speedup: 9.2

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

    def no_time(state, request, descriptors):
        state.late = state.sets[request["set"]]
        state.output = [torch.empty_like(state.late[0])]
        return {"ms": 0.001, "output": described(state.output[0])}

    def no_block(state, request, descriptors):
        state.block = [state.sets[position] for position in request["sets"]]
        state.outputs = [[torch.empty_like(inputs[0])] for inputs in state.block]
        return {"outputs": [described(output[0]) for output in state.outputs]}

    def late(state, request, descriptors):
        call, inputs, state.late = request.get("call"), getattr(state, "late", None), None
        if call is not None and hasattr(state, "block"):
            for _ in range(REPEATS):
                state.outputs[call] = [state.model(*state.block[call])]
        elif inputs is not None:
            for _ in range(REPEATS):
                state.output = [state.model(*inputs)]
        return reveal(state, request, descriptors)

    handlers["time"], handlers["host_block"], handlers["reveal"] = no_time, no_block, late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")
