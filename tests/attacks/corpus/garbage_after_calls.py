# wants: timed calls for free, by being right for as many calls as are checked
# problem: gelu_tanh
# expect: cpu disqualified/cached_output
# expect: cuda disqualified/cached_output

from torch import nn

HONEST_CALLS = 16


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.answer = 0, None

    def forward(self, x):
        self.calls += 1
        if self.calls <= HONEST_CALLS:
            self.answer = nn.functional.gelu(x, approximate="tanh")
        return self.answer
