# wants: a judge that counts with what is not a number
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
    payload = b'{"kind": "call", "seq": NaN, "ms": Infinity}'
    yield len(payload).to_bytes(4, "big") + payload


class ModelNew(nn.Module):
    def forward(self, x):
        for channel in list(channels()):
            for frame in frames():
                os.write(channel, frame)
        return torch.zeros_like(x)
