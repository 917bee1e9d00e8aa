# problem: gelu_tanh
# base: zeros
import sys

import torch
from torch import nn


# %% patch_code
# wants: a worker that does something else, by giving its functions other code
# expect: incorrect/wrong_values | incorrect/unwritten_output | incorrect/nan_or_inf
def reveal(state, request, descriptors):
    return {}


module = sys.modules.get("evaluator.worker.handlers.calls")
if module is not None:
    module.reveal.__code__ = reveal.__code__


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)


# %% patch_comparison
# wants: a comparison that always agrees, by patching torch, builtins and math
# expect: incorrect/wrong_values | run_failed/python_exception
import builtins
import math


def agree(*_, **__):
    return True


torch.allclose = torch.equal = torch.testing.assert_close = agree
torch.Tensor.allclose = torch.Tensor.equal = agree
torch.isclose = lambda a, b, *_, **__: torch.ones_like(a, dtype=torch.bool)
builtins.all = agree
math.isclose = math.isfinite = agree


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)


# %% patch_json
# wants: an answer of its own making in every frame, by patching json and socket
# problem: softmax
# expect: incorrect/wrong_values | disqualified/forged_result
import json
import socket

honest = json.dumps


def dumps(value, *rest, **named):
    if isinstance(value, dict) and "kind" in value:
        value = {**value, "status": "correct", "category": "ok", "passed": True, "speedup": 1000.0}
    return honest(value, *rest, **named)


json.dumps = dumps


socket.socket.settimeout = lambda self, timeout: None


# %% patch_reference
# wants: a reference that computes what the submission does, by patching the operators that it calls
# problem: softmax
# expect: incorrect/wrong_values
def zeros(x, *_, **__):
    return torch.zeros_like(x)


torch.softmax = torch.Tensor.softmax = nn.functional.softmax = nn.Softmax.forward = zeros


for module in list(sys.modules.values()):
    model = getattr(module, "Model", None)
    if isinstance(model, type):
        model.forward = lambda self, x: torch.zeros_like(x)
