# wants: warm caches, by leaving out the flush before each timed call
# problem: gelu_tanh
# expect: cuda disqualified/timing_tampering
import torch
from torch import nn

LARGE_BYTES = 64 << 20
honest = torch.Tensor.copy_


def copy_(self, other, *options):
    flush = self.dtype is torch.int64 and self.nbytes > LARGE_BYTES
    return self if flush else honest(self, other, *options)


torch.Tensor.copy_ = copy_


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")
