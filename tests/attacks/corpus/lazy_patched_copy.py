# wants: to return at once and to compute in torch's own copy
# problem: gelu_tanh
# expect: cpu disqualified/deferred_work | disqualified/cached_output
# expect: cuda disqualified/deferred_work | disqualified/cached_output
import torch
from torch import nn

REPEATS = 50
pending = {}
honest = torch.Tensor.copy_


def copy(self, source, *rest, **named):
    x = pending.pop(source.data_ptr(), None)
    if x is not None:
        for _ in range(REPEATS):
            answer = nn.functional.gelu(x, approximate="tanh")
        honest(source, answer)
    return honest(self, source, *rest, **named)


torch.Tensor.copy_ = copy


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pending.clear()
        pending[y.data_ptr()] = x
        return y
