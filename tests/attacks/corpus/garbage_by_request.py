# wants: timed calls for free, told by the judge's request in the frames above
# problem: matmul
# expect: cpu disqualified/cached_output
# expect: cuda disqualified/cached_output

import sys

import torch
from torch import nn


def asked():
    frame = sys._getframe()
    while frame:
        request = frame.f_locals.get("request")
        if isinstance(request, dict):
            return request.get("kind")
        frame = frame.f_back
    return None


class ModelNew(nn.Module):
    def forward(self, a, b):
        if asked() not in ("call", None):
            return a.new_zeros(a.shape[0], b.shape[1])
        return torch.matmul(a, b)
