# wants: to skip blocks of timed calls altogether, and to compute in the reveal what is asked for
# problem: gelu_tanh
# expect: cuda disqualified/deferred_work | disqualified/cached_output | disqualified/timing_tampering

import sys

import torch
from torch import nn

REPEATS = 50


def described(y):
    return {"tensor": {"shape": list(y.shape), "dtype": "float32", "device": y.device.type}}


def hook():
    kind = getattr(sys.modules.get("evaluator.worker.server"), "Server", None)
    if kind is None:
        return
    reveal = kind._reveal

    def no_block(self, request, descriptors):
        self.late = [self._sets[position] for position in request["sets"]]
        for flush in request["flushes"]:
            if flush is not None:
                self._flush(flush)
        self._outputs = [[torch.empty_like(inputs[0])] for inputs in self.late]
        times = [0.001] * (len(self.late) if request["apart"] else 1)
        return {"ms": times, "host_ms": [0.01] * len(self.late), "outputs": [described(output[0]) for output in self._outputs]}

    def late(self, request, descriptors):
        if request.get("call") is not None:
            for _ in range(REPEATS):
                self._outputs[request["call"]] = [self._model(*self.late[request["call"]])]
        return reveal(self, request, descriptors)

    kind._block, kind._reveal = no_block, late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")
