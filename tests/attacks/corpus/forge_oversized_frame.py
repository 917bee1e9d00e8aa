# wants: a judge that reads four gigabytes, or waits for them
# problem: gelu_tanh
# expect: cpu disqualified/forged_result
# expect: cuda disqualified/forged_result

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
    yield b"\xff\xff\xff\xff" + b"x" * 1000


class ModelNew(nn.Module):
    def forward(self, x):
        for channel in list(channels()):
            for frame in frames():
                os.write(channel, frame)
        return torch.zeros_like(x)
