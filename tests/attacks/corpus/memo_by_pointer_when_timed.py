# wants: one computation for all timed calls with the same pointer
# problem: gelu_tanh
# expect: cpu disqualified/cached_output
# expect: cuda disqualified/cached_output

from torch import nn

HONEST_CALLS = 16


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.known, self.calls = {}, 0

    def forward(self, x):
        self.calls += 1
        if self.calls <= HONEST_CALLS or x.data_ptr() not in self.known:
            self.known[x.data_ptr()] = nn.functional.gelu(x, approximate="tanh")
        return self.known[x.data_ptr()]
