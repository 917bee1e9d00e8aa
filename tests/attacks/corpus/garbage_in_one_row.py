# wants: the last row of timed calls for free, where only a sample of the output is looked at
# problem: gelu_tanh
# expect: cpu disqualified/cached_output
# expect: cuda disqualified/cached_output

from torch import nn

HONEST_CALLS = 16


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = nn.functional.gelu(x, approximate="tanh")
        if self.calls > HONEST_CALLS:
            y[-1] = 0.0
        return y
