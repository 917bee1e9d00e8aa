# wants: a pass by being right in most calls
# problem: gelu_tanh
# expect: cpu incorrect/wrong_values | incorrect/nondeterministic | disqualified/cached_output
# expect: cuda incorrect/wrong_values | incorrect/nondeterministic | disqualified/cached_output

import random

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        if random.SystemRandom().random() < 0.3:
            return torch.zeros_like(x)
        return nn.functional.gelu(x, approximate="tanh")
