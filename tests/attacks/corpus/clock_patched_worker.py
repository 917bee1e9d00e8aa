# wants: a short time from events of its own making, put into the worker's module
# problem: gelu_tanh
# expect: cuda disqualified/timing_tampering

import sys

import torch
from torch import nn


class Event:
    def record(self, stream=None):
        pass

    def synchronize(self):
        pass

    def query(self):
        return True

    def elapsed_time(self, end):
        return 0.001


module = sys.modules.get("evaluator.worker.handlers.timing")
if module is not None:
    module.event = Event
torch.cuda.Event = lambda *_, **__: Event()


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(20):
            y = nn.functional.gelu(x, approximate="tanh")
        return y
