# wants: a judge that waits for the rest of a frame for ever
# problem: gelu_tanh
# expect: cpu disqualified/forged_result | run_failed/timeout
# expect: cuda disqualified/forged_result | run_failed/timeout

import os

import torch
from torch import nn


def channels():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                yield int(name)
        except OSError:
            continue


def frames():
    yield (1000).to_bytes(4, "big") + b'{"kind"'


class ModelNew(nn.Module):
    def forward(self, x):
        for channel in list(channels()):
            for frame in frames():
                os.write(channel, frame)
        return torch.zeros_like(x)
