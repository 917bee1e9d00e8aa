# wants: warm caches, by leaving out the flush before each timed call
# problem: gelu_tanh
# expect: cuda disqualified/timing_tampering

import torch
from torch import nn

LARGE_BYTES = 64 << 20
honest = torch.Tensor.fill_


def fill_(self, value):
    return self if self.dtype is torch.uint8 and self.nbytes > LARGE_BYTES else honest(self, value)


torch.Tensor.fill_ = fill_


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")
